/**
 * Messages of some chunks, whole: read by one statement and unpacked at once, instead of chunk by chunk for as long as the client
 * takes. They are a hundredth of all messages, so that code of their own would seldom run, and be slow; what is here is
 * little, and most of what it calls is what short messages are read by.
 */
import { prepared } from '../database/statement.js'
import { LONG_CHUNK_SIZES } from './chunk-codec.js'
import { unpackIfSound } from './content-rows.js'
import { chunkRowId } from './row-ids.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** What a client that does not read may hold up of one message, bytes; and some 2 ms of work. */
export const LONG_BODY_BYTES = 512 * 1024

const SMALLEST_CHUNK_BYTES = /** @type {number} */ (LONG_CHUNK_SIZES.at(-1))

/**
 * @param {Database} db
 * @param {number} contentId
 * @param {number} size - of the message, more bytes than one chunk has, up to LONG_BODY_BYTES
 * @returns {Buffer[] | null} its bytes, in pieces that are the caller's own with the memory that they lie in; null where
 *   something is missing or damaged
 */
export function readLongBody(db, contentId, size) {
  const mostChunks = Math.ceil(size / SMALLEST_CHUNK_BYTES)
  const rows = /** @type {[number, Buffer][]} */ (
    prepared(
      db,
      'SELECT codec, data FROM content_chunks WHERE id BETWEEN ? AND ? ORDER BY id',
      'array'
    ).all(chunkRowId(contentId, 0), chunkRowId(contentId, mostChunks))
  )
  // More than one chunk is a different number of them with each size that they may have.
  const chunkBytes = LONG_CHUNK_SIZES.find((bytes) => Math.ceil(size / bytes) === rows.length)
  return chunkBytes === undefined ? null : unpackRows(db, rows, size, chunkBytes)
}

/**
 * @param {Database} db
 * @param {readonly [number, Buffer][]} rows - codec and data of each chunk
 * @param {number} size - of the message, bytes
 * @param {number} chunkBytes - raw bytes in each but the last
 * @returns {Buffer[] | null} as above
 */
function unpackRows(db, rows, size, chunkBytes) {
  const pieces = []
  let left = size
  for (const [codec, data] of rows) {
    const piece = unpackIfSound(db, { codec, data, size: Math.min(chunkBytes, left) })
    if (piece === null) return null
    pieces.push(piece)
    left -= piece.length
  }
  return pieces
}
