/**
 * The exact bytes of messages, chunk by chunk: no cursor is held while a client takes its time.
 */
import { runSnapshot } from '../database/transaction.js'
import { CHUNK_BYTES, releaseBuffer } from './chunk-codec.js'
import { readChunk, requireContent } from './content-rows.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Raw bytes that are read at once, and held until they are taken piece by piece. */
export const HELD_BYTES = CHUNK_BYTES

/**
 * @param {Pick<import('./account-database.js').AccountDatabase, 'readSettled'>} database
 * @param {number} contentId
 * @param {number} start - first byte
 * @param {number} end - exclusive; what lies beyond the content's end is left out
 * @param {object} [reader]
 * @param {import('./read-ahead.js').ReadAhead | null} [reader.ahead] - where to look for a chunk, and to leave one of which
 *   more may be asked for; null: nobody comes back for more
 * @param {import('./left-contents.js').LeftReader | null} [reader.left] - who keeps the sweep from what is being read; null:
 *   nobody does
 * @returns {AsyncGenerator<Buffer, void, undefined>} pieces of up to 128 KiB, the caller's own
 * @throws {import('../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function* readContentRange(
  database,
  contentId,
  start,
  end,
  { ahead = null, left = null } = {}
) {
  const content = await database.readSettled((db) => requireContent(db, contentId))
  const { size, chunkSize } = content
  const last = Math.min(end, size)
  ahead?.noteRead({ contentId, start, end: last }, content)
  const claim = (/** @type {number} */ sequence) => ahead?.claim(contentId, sequence) ?? true
  const readFrom = async (/** @type {number} */ sequence) => {
    const known = await ahead?.take(contentId, sequence)
    if (known) return [known]
    const sequences = readTogether({ sequence, end: Math.ceil(last / chunkSize), chunkSize }, claim)
    const { chunks, isLeft } = await database.readSettled((db) => ({
      chunks: readChunks(db, contentId, sequences, content),
      isLeft: left?.isLeft(db) ?? false
    }))
    if (isLeft) left?.sign()
    return chunks
  }
  /** @type {Buffer[]} chunks that have been read, and are to come next */
  let ready = []
  try {
    for (let offset = start; offset < last;) {
      const sequence = Math.floor(offset / chunkSize)
      const base = sequence * chunkSize
      const range = { from: offset - base, to: Math.min(last, base + chunkSize) - base }
      if (ready.length === 0) ready = await readFrom(sequence)
      const chunk = /** @type {Buffer} */ (ready.shift())
      // Who stops in the middle will want the rest; who has come to the end goes on with the next.
      if (ahead === null || range.to === chunk.length) yield chunk.subarray(range.from, range.to)
      else {
        const piece = copyOf(chunk, range)
        ahead.keep(contentId, sequence, chunk)
        yield piece
      }
      offset = base + chunkSize
    }
  } finally {
    for (const chunk of ready) releaseBuffer(chunk)
  }
}

/**
 * Short chunks are read some at a time: each reading by itself takes SQLite's locks and gives them back.
 *
 * @param {{ sequence: number, end: number, chunkSize: number }} wanted - number of the first chunk, and of the one behind the
 *   last
 * @param {(sequence: number) => boolean} claim - whether one behind the first has to be read as well; nobody else does then
 * @returns {number[]} numbers of the first of them, in a row
 */
function readTogether({ sequence, end, chunkSize }, claim) {
  const behind = Math.min(end, sequence + HELD_BYTES / chunkSize)
  const sequences = [sequence]
  for (let next = sequence + 1; next < behind && claim(next); next++) sequences.push(next)
  return sequences
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @param {readonly number[]} sequences
 * @param {{ size: number, chunkSize: number }} content
 * @returns {Buffer[]} the raw bytes of each
 */
function readChunks(db, contentId, sequences, content) {
  const read = () => sequences.map((sequence) => readChunk(db, contentId, sequence, content))
  return sequences.length === 1 ? read() : runSnapshot(db, read)
}

/**
 * @param {Buffer} chunk
 * @param {{ from: number, to: number }} range
 * @returns {Buffer} in memory of its own
 */
function copyOf(chunk, { from, to }) {
  const copy = Buffer.allocUnsafeSlow(to - from)
  chunk.copy(copy, 0, from, to)
  return copy
}
