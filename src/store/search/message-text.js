/**
 * Brings a message's header and decoded text from the store, one part at a time, so that no message lies in memory as a
 * whole. What counts as text is src/mime/text-extract.js's to say; here is the way there without blocking.
 */
import { MAX_HEADER_BLOCK_BYTES } from '../../mime/limits.js'
import { decodePartTree } from '../../mime/part-tree.js'
import { rangeText, TextPartDecoder, textRanges } from '../../mime/text-extract.js'
import { CHUNK_BYTES, releaseBuffer } from '../chunk-codec.js'

/** @typedef {import('../../mime/text-extract.js').TextRange} TextRange */
/** @typedef {Pick<import('../account-store.js').AccountStore, 'readContent'>} ContentReader */
/** @typedef {Pick<import('../account-store.js').MessageRecord, 'contentId' | 'size' | 'header' | 'partTree' | 'content'>} TextRecord */

/**
 * Bytes that are decoded at once of a large part. Strings of this size die young; those of a whole chunk would be kept
 * until the garbage collector looks at large objects, tens of megabytes later.
 */
const PIECE_BYTES = 16 * 1024

/**
 * @typedef {object} TextPiece
 * @property {string} text - decoded; of a small part all of it, else some ten thousand characters
 * @property {boolean} isContinued - whether it goes on where the piece before has ended
 */

/**
 * @param {ContentReader} store
 * @param {TextRecord} record - read with `header`, or with `partTree`
 * @returns {Promise<Buffer>} the header block; of a huge one the first MAX_HEADER_BLOCK_BYTES
 */
export async function readHeaderBlock(store, record) {
  if (record.header) return record.header
  const { headerEnd } = record.partTree
    ? decodePartTree(record.partTree)
    : { headerEnd: record.size }
  return await readRange(store, record, 0, Math.min(headerEnd, MAX_HEADER_BLOCK_BYTES))
}

/** What must be decoded takes too long to be decoded here: a long header, or many messages. */
export class TooLongHere extends Error {}

/**
 * @typedef {object} Pace - of whoever decodes
 * @property {() => Promise<void>} breathe - called before each piece that is decoded
 * @property {number} maxHeaderBytes - of a header, which is decoded in one piece
 */

/**
 * Nobody waits for a thread's turn to end.
 *
 * @type {Pace}
 */
export const UNHURRIED = { breathe: async () => {}, maxHeaderBytes: Infinity }

/**
 * The same text as `textPieces` gives. A large part comes in several pieces. Megabytes may hold no text at all, a page
 * of nothing but tags for one: so pauses are made where bytes are decoded, not where text is found.
 *
 * @param {ContentReader} store
 * @param {TextRecord} record - read with `partTree`; with `content` a small message is not read again
 * @param {Pace} pace
 * @returns {AsyncGenerator<TextPiece>}
 * @throws {TooLongHere} where the header of a part, or of a message inside, is too long
 */
export async function* readTextPieces(store, record, { breathe, maxHeaderBytes }) {
  if (!record.partTree) return
  const reader = new RangeReader(store, record)
  try {
    for (const range of textRanges(decodePartTree(record.partTree))) {
      await breathe()
      const { kind, start, end } = range
      if (kind === 'text' && end - start > PIECE_BYTES) {
        yield* readPart(reader, range, breathe)
        continue
      }
      if (kind !== 'text' && end - start > maxHeaderBytes) throw new TooLongHere()
      const text = rangeText(range, await reader.read(start, end))
      if (text !== '') yield { text, isContinued: false }
    }
  } finally {
    reader.release()
  }
}

/**
 * @param {RangeReader} reader
 * @param {TextRange} part
 * @param {() => Promise<void>} breathe
 * @returns {AsyncGenerator<TextPiece>}
 */
async function* readPart(reader, { start, end, node }, breathe) {
  const decoder = new TextPartDecoder(node)
  let isContinued = false
  for (let at = start; at < end;) {
    const to = Math.min(end, nextMultiple(at, PIECE_BYTES))
    await breathe()
    const text = decoder.push(await reader.read(at, to))
    at = to
    if (text === '') continue
    yield { text, isContinued }
    isContinued = true
  }
  yield { text: decoder.end(), isContinued }
}

/**
 * Ranges of one message, best read in their order. The chunk that was read last stays unpacked: a message may have a thousand
 * parts in one.
 */
export class RangeReader {
  #store
  #record
  #bytes
  /** Where `#bytes` begins in the message. */
  #start = 0

  /**
   * @param {ContentReader} store
   * @param {Pick<TextRecord, 'contentId' | 'content'>} record
   */
  constructor(store, record) {
    this.#store = store
    this.#record = record
    this.#bytes = record.content ?? null
  }

  /**
   * @param {number} start
   * @param {number} end - exclusive; not beyond the message
   * @returns {Promise<Buffer>} a view that lasts until the next call
   */
  async read(start, end) {
    const first = this.#start
    if (!this.#bytes || start < first || end > first + this.#bytes.length) {
      this.release()
      this.#start = start - (start % CHUNK_BYTES)
      const last = nextMultiple(end - 1, CHUNK_BYTES)
      this.#bytes = await readRange(this.#store, this.#record, this.#start, last)
    }
    return this.#bytes.subarray(start - this.#start, end - this.#start)
  }

  /** Gives the chunk's memory back. */
  release() {
    if (this.#bytes && this.#bytes !== this.#record.content) releaseBuffer(this.#bytes)
    this.#bytes = null
  }
}

/**
 * @param {number} at
 * @param {number} step
 * @returns {number} the first multiple of `step` behind it
 */
const nextMultiple = (at, step) => at - (at % step) + step

/**
 * @param {ContentReader} store
 * @param {Pick<TextRecord, 'contentId'>} record
 * @param {number} start
 * @param {number} end - exclusive
 * @returns {Promise<Buffer>}
 */
async function readRange(store, { contentId }, start, end) {
  /** @type {Buffer[]} */
  const pieces = []
  for await (const piece of store.readContent(contentId, start, end)) pieces.push(piece)
  if (pieces.length === 1) return /** @type {Buffer} */ (pieces[0])
  const bytes = Buffer.concat(pieces)
  pieces.forEach(releaseBuffer)
  return bytes
}
