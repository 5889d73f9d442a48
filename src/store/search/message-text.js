/**
 * Brings a message's header and decoded text from the store, one part at a time, so that no message lies in memory as a
 * whole. What counts as text is src/mime/text-extract.js's to say; here is the way there without blocking.
 */
import { MAX_HEADER_BLOCK_BYTES } from '../../mime/limits.js'
import { decodePartTree } from '../../mime/part-tree.js'
import { rangeText, TextPartDecoder, textRanges } from '../../mime/text-extract.js'
import { releaseBuffer } from '../chunk-codec.js'

/** @typedef {import('../../mime/text-extract.js').TextRange} TextRange */
/** @typedef {Pick<import('../account-store.js').AccountStore, 'readContent'>} ContentReader */
/** @typedef {Pick<import('../account-store.js').MessageRecord, 'contentId' | 'size' | 'header' | 'partTree' | 'content'>} TextRecord */

/** Up to here a message with several texts is read once: its few chunks would be unpacked again for each of them. */
const WHOLE_MESSAGE_BYTES = 256 * 1024

/**
 * Bytes that are decoded at once of a large part. Strings of this size die young; those of a whole chunk would be kept
 * until the garbage collector looks at large objects, tens of megabytes later.
 */
const PIECE_BYTES = 16 * 1024

/**
 * @typedef {object} TextPiece
 * @property {string} text - decoded; of a small message a whole part, else some ten thousand characters
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

/**
 * The same text as `textPieces` gives. A large part comes in several pieces.
 *
 * @param {ContentReader} store
 * @param {TextRecord} record - read with `partTree`; with `content` a small message is not read again
 * @returns {AsyncGenerator<TextPiece>}
 */
export async function* readTextPieces(store, record) {
  if (!record.partTree) return
  const ranges = [...textRanges(decodePartTree(record.partTree))]
  const isSmall = record.size <= WHOLE_MESSAGE_BYTES && ranges.length > 1
  const whole = record.content ?? (isSmall ? await readRange(store, record, 0, record.size) : null)
  for (const range of ranges) {
    const { kind, start, end } = range
    if (kind === 'text' && !whole) {
      yield* readPart(store, record, range)
      continue
    }
    const bytes = whole?.subarray(start, end) ?? (await readRange(store, record, start, end))
    const text = rangeText(range, bytes)
    if (text !== '') yield { text, isContinued: false }
  }
}

/**
 * @param {ContentReader} store
 * @param {TextRecord} record
 * @param {TextRange} part
 * @returns {AsyncGenerator<TextPiece>}
 */
async function* readPart(store, { contentId }, { start, end, node }) {
  const decoder = new TextPartDecoder(node)
  let isContinued = false
  for await (const bytes of store.readContent(contentId, start, end)) {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      const text = decoder.push(bytes.subarray(at, at + PIECE_BYTES))
      if (text === '') continue
      yield { text, isContinued }
      isContinued = true
    }
    releaseBuffer(bytes)
  }
  yield { text: decoder.end(), isContinued }
}

/**
 * @param {ContentReader} store
 * @param {TextRecord} record
 * @param {number} start
 * @param {number} end - exclusive
 * @returns {Promise<Buffer>}
 */
async function readRange(store, { contentId }, start, end) {
  /** @type {Buffer[]} */
  const pieces = []
  for await (const piece of store.readContent(contentId, start, end)) pieces.push(piece)
  return pieces.length === 1 ? /** @type {Buffer} */ (pieces[0]) : Buffer.concat(pieces)
}
