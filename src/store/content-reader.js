/**
 * The exact bytes of messages, chunk by chunk: no cursor is held while a client takes its time.
 */
import { readChunk, requireContent } from './content-rows.js'

/**
 * @param {Pick<import('./account-database.js').AccountDatabase, 'readSettled'>} database
 * @param {number} contentId
 * @param {number} start - first byte
 * @param {number} end - exclusive; what lies beyond the content's end is left out
 * @param {import('./read-ahead.js').ReadAhead | null} [ahead] - where to look for a chunk, and to leave one of which more
 *   may be asked for; null: nobody comes back for more
 * @returns {AsyncGenerator<Buffer, void, undefined>} pieces of up to 128 KiB, the caller's own
 * @throws {import('../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function* readContentRange(database, contentId, start, end, ahead = null) {
  const content = await database.readSettled((db) => requireContent(db, contentId))
  const { size, chunkSize } = content
  const last = Math.min(end, size)
  ahead?.noteRead({ contentId, start, end: last }, content)
  for (let offset = start; offset < last;) {
    const sequence = Math.floor(offset / chunkSize)
    const base = sequence * chunkSize
    const range = { from: offset - base, to: Math.min(last, base + chunkSize) - base }
    const chunk =
      (await ahead?.take(contentId, sequence)) ??
      (await database.readSettled((db) => readChunk(db, contentId, sequence, content)))
    // Who stops in the middle will want the rest; who has come to the end goes on with the next.
    if (ahead === null || range.to === chunk.length) yield chunk.subarray(range.from, range.to)
    else {
      const piece = copyOf(chunk, range)
      ahead.keep(contentId, sequence, chunk)
      yield piece
    }
    offset = base + chunkSize
  }
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
