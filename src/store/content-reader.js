/**
 * The exact bytes of messages, chunk by chunk: no cursor is held while a client takes its time.
 */
import { readChunk, requireContent } from './content-rows.js'

/**
 * @param {Pick<import('./account-database.js').AccountDatabase, 'readSettled'>} database
 * @param {number} contentId
 * @param {number} start - first byte
 * @param {number} end - exclusive; what lies beyond the content's end is left out
 * @returns {AsyncGenerator<Buffer, void, undefined>} pieces of up to 128 KiB
 * @throws {import('../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function* readContentRange(database, contentId, start, end) {
  const content = await database.readSettled((db) => requireContent(db, contentId))
  const { size, chunkSize } = content
  const last = Math.min(end, size)
  for (let offset = start; offset < last;) {
    const sequence = Math.floor(offset / chunkSize)
    const chunk = await database.readSettled((db) => readChunk(db, contentId, sequence, content))
    const base = sequence * chunkSize
    yield chunk.subarray(offset - base, Math.min(last - base, chunk.length))
    offset = base + chunkSize
  }
}
