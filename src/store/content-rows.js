/**
 * Rows of `contents` and `content_chunks`: the exact bytes of messages, each content once. Everything here runs
 * inside a transaction or read of the caller.
 */
import { isMailError, MailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { releaseBuffer } from './chunk-codec.js'
import { chunkRowId, sequenceOfChunk } from './row-ids.js'
import { takeContentId } from './reserved-ids.js'
import { unpackStored } from './shared-parts/read-part.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./chunk-codec.js').EncodedChunk} EncodedChunk
 */

/** Contents that are given up in one transaction: 5 ms. */
export const LEAVE_PAGE = 500

/**
 * @param {Database} db
 * @param {Buffer} hash - SHA-256
 * @param {number} size - bytes
 * @returns {number | null} id of a complete content with these bytes
 */
export function findContent(db, hash, size) {
  const id = prepared(
    db,
    `SELECT id FROM contents WHERE substr(hash, 1, 8) = ? AND hash = ? AND size = ? AND staged_at IS NULL`,
    'value'
  ).get(hash.subarray(0, 8), hash, size)
  return id === undefined ? null : /** @type {number} */ (id)
}

/**
 * @param {Database} db
 * @param {{ hash: Buffer | null, size: number, chunkBytes: number, stagedAtMs: number | null }} content - `chunkBytes`: raw
 *   bytes in each of its chunks but the last
 * @returns {number} its id
 */
export function insertContent(db, { hash, size, chunkBytes, stagedAtMs }) {
  const { lastInsertRowid } = prepared(
    db,
    'INSERT INTO contents (id, hash, size, chunk_size, staged_at) VALUES (?, ?, ?, ?, ?)'
  ).run(takeContentId(db), hash, size, chunkBytes, stagedAtMs)
  return Number(lastInsertRowid)
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @param {number} firstSequence - number of the first of these chunks
 * @param {readonly EncodedChunk[]} chunks
 */
export function insertChunks(db, contentId, firstSequence, chunks) {
  const insert = prepared(db, 'INSERT INTO content_chunks (id, codec, data) VALUES (?, ?, ?)')
  chunks.forEach(({ codec, data }, index) =>
    insert.run(chunkRowId(contentId, firstSequence + index), codec, data)
  )
}

/**
 * A staged content without a sign of life for an hour is swept, because whoever brought it may be gone.
 *
 * @param {number} changes - rows of a staged content that were changed
 * @throws {MailError} LIMIT when there is none any more: not BUSY, because trying again does not bring it back
 */
function requireStaged(changes) {
  if (changes === 0) throw new MailError('LIMIT', { detail: 'staged content was collected' })
}

/**
 * A sign of life of a staged content.
 *
 * @param {Database} db
 * @param {{ contentId: number, size?: number, nowMs: number }} sign - `size`: bytes so far, where more have come
 * @throws {MailError} LIMIT when it has been swept
 */
export function touchStaged(db, { contentId, size, nowMs }) {
  const { changes } = prepared(
    db,
    'UPDATE contents SET size = coalesce(?, size), staged_at = ? WHERE id = ? AND staged_at IS NOT NULL'
  ).run(size ?? null, nowMs, contentId)
  requireStaged(changes)
}

/**
 * Makes a staged content a complete one.
 *
 * @param {Database} db
 * @param {{ contentId: number, hash: Buffer, size: number }} content
 * @throws {MailError} LIMIT when it has been swept
 */
export function completeContent(db, { contentId, hash, size }) {
  const { changes } = prepared(
    db,
    'UPDATE contents SET hash = ?, size = ?, staged_at = NULL WHERE id = ? AND staged_at IS NOT NULL'
  ).run(hash, size, contentId)
  requireStaged(changes)
}

/**
 * Leaves a content to the sweep, which deletes it if no message refers to it.
 *
 * @param {Database} db
 * @param {number} contentId
 */
export function leaveContent(db, contentId) {
  prepared(
    db,
    'UPDATE contents SET staged_at = NULL, hash = NULL WHERE id = ? AND staged_at IS NOT NULL'
  ).run(contentId)
  prepared(db, 'INSERT OR IGNORE INTO garbage_contents (content_id) VALUES (?)').run(contentId)
}

/**
 * Asked before rows are written that are made of a content: it may have been swept since it was read.
 *
 * @param {Database} db
 * @param {number} contentId
 * @returns {boolean} whether there is a complete content; one that is being swept counts as gone
 */
export const hasContent = (db, contentId) =>
  prepared(db, 'SELECT 1 FROM contents WHERE id = ? AND hash IS NOT NULL', 'value').get(
    contentId
  ) !== undefined

/**
 * @param {Database} db
 * @param {number} contentId - of a complete content; one that is being swept counts as gone
 * @returns {{ size: number, chunkSize: number }}
 * @throws {MailError} MESSAGE_GONE
 */
export function requireContent(db, contentId) {
  const row = prepared(
    db,
    'SELECT size, chunk_size AS chunkSize FROM contents WHERE id = ? AND hash IS NOT NULL'
  ).get(contentId)
  if (row === undefined) throw new MailError('MESSAGE_GONE', { detail: `content ${contentId}` })
  return /** @type {{ size: number, chunkSize: number }} */ (row)
}

/**
 * @param {Database} db
 * @param {number} contentId
 * @param {number} sequence - number of the chunk
 * @param {{ size: number, chunkSize: number }} content - of requireContent
 * @returns {Buffer} its raw bytes
 * @throws {MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export function readChunk(db, contentId, sequence, { size, chunkSize }) {
  const row = prepared(db, 'SELECT codec, data FROM content_chunks WHERE id = ?').get(
    chunkRowId(contentId, sequence)
  )
  if (row === undefined) {
    requireContent(db, contentId)
    throw new MailError('ACCOUNT_DAMAGED', { detail: `content ${contentId} lacks a chunk` })
  }
  const { codec, data } = /** @type {{ codec: number, data: Buffer }} */ (row)
  const expectedBytes = Math.min(chunkSize, size - sequence * chunkSize)
  const raw = unpackOrGone(db, contentId, { codec, data, size: expectedBytes })
  if (raw !== data) releaseBuffer(data)
  if (raw.length !== expectedBytes)
    throw new MailError('ACCOUNT_DAMAGED', { detail: `content ${contentId} has a short chunk` })
  return raw
}

/**
 * What a chunk shares with others is read by a statement of its own: it may have gone with the content since.
 *
 * @param {Database} db
 * @param {number} contentId
 * @param {{ codec: number, data: Buffer, size: number }} chunk
 * @returns {Buffer} as `unpackStored`
 * @throws {MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
function unpackOrGone(db, contentId, chunk) {
  try {
    return unpackStored(db, chunk)
  } catch (error) {
    requireContent(db, contentId)
    throw error
  }
}

/**
 * Takes a content out of sight before its chunks go: no new message finds it by its hash any more, and who still reads
 * it is told that it is gone.
 *
 * @param {Database} db
 * @param {number} contentId
 */
export function hideContent(db, contentId) {
  prepared(db, 'UPDATE contents SET hash = NULL WHERE id = ?').run(contentId)
}

/**
 * @param {Database} db
 * @param {{ codec: number | null, data: Buffer | null, size: number }} chunk - null where there is none; `size`: raw bytes that are
 *   expected
 * @returns {Buffer | null} its raw bytes, in memory of their own; null when there is none, or when it is damaged, which whoever
 *   reads the content chunk by chunk is told: the messages beside it can be read
 */
export function unpackIfSound(db, { codec, data, size }) {
  if (codec === null || data === null) return null
  try {
    const raw = unpackStored(db, { codec, data, size })
    if (raw !== data) releaseBuffer(data)
    return raw.length === size ? raw : null
  } catch (error) {
    if (!isMailError(error, 'ACCOUNT_DAMAGED')) throw error
    return null
  }
}

/**
 * Deletes some chunks of a content, last first, so that the rest of it stays well-formed.
 *
 * @param {Database} db
 * @param {number} contentId
 * @param {number} maxChunks
 * @returns {boolean} whether chunks are left
 */
export function deleteChunks(db, contentId, maxChunks) {
  const ids = /** @type {number[]} */ (
    prepared(
      db,
      'SELECT id FROM content_chunks WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ? + 0',
      'value'
    ).all(chunkRowId(contentId, 0), chunkRowId(contentId + 1, 0), maxChunks)
  )
  const remove = prepared(db, 'DELETE FROM content_chunks WHERE id = ?')
  for (const id of ids) remove.run(id)
  const last = ids[ids.length - 1]
  return last !== undefined && sequenceOfChunk(last) > 0
}

/**
 * Deletes a content without chunks, and what was computed from it.
 *
 * @param {Database} db
 * @param {number} contentId
 */
export function deleteContent(db, contentId) {
  prepared(db, 'DELETE FROM contents WHERE id = ?').run(contentId)
}
