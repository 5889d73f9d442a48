/**
 * Rows of `shared_parts` and of what says who needs them. Everything here runs inside a transaction or read of the caller.
 */
import { prepared } from '../../database/statement.js'
import { deleteChunks } from '../content-rows.js'
import { takeContentId } from '../reserved-ids.js'
import { PART_CHUNK_BYTES } from './shared-chunk.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} PartPlace - where a base64 part stands in a message
 * @property {number} contentId
 * @property {number} start - first byte of its text
 * @property {number} line - characters of a line
 * @property {number} size - decoded bytes
 * @property {number} sample - 48 bits of the SHA-256 of some of them
 */

/**
 * @param {Database} db
 * @param {{ hash: Buffer, size: number }} part - SHA-256 of its decoded bytes, and their number
 * @returns {number | null} id of a complete shared part of these bytes
 */
export function findSharedPart(db, { hash, size }) {
  const id = prepared(
    db,
    'SELECT id FROM shared_parts WHERE substr(hash, 1, 8) = ? AND hash = ? AND size = ?',
    'value'
  ).get(hash.subarray(0, 8), hash, size)
  return id === undefined ? null : /** @type {number} */ (id)
}

/**
 * @param {Database} db
 * @param {number} size - decoded bytes
 * @returns {number} id of a part that is not complete yet
 */
export function insertSharedPart(db, size) {
  const { lastInsertRowid } = prepared(
    db,
    'INSERT INTO shared_parts (id, hash, size) VALUES (?, NULL, ?)'
  ).run(takeContentId(db), size)
  return Number(lastInsertRowid)
}

/**
 * @param {Database} db
 * @param {number} partId
 * @param {Buffer} hash - of all of it, which is here now
 */
export function completeSharedPart(db, partId, hash) {
  prepared(db, 'UPDATE shared_parts SET hash = ? WHERE id = ?').run(hash, partId)
}

/**
 * To be called before a chunk of the content refers to the part, or in the same transaction.
 *
 * @param {Database} db
 * @param {number} contentId - of a complete content
 * @param {number} partId
 */
export function insertUse(db, contentId, partId) {
  prepared(db, 'INSERT OR IGNORE INTO shared_part_uses (content_id, part_id) VALUES (?, ?)').run(
    contentId,
    partId
  )
}

/**
 * @param {Database} db
 * @param {number} contentId - none of whose chunks refers to the part
 * @param {number} partId - left to the sweep where nobody else needs it
 */
export function removeUse(db, contentId, partId) {
  prepared(db, 'DELETE FROM shared_part_uses WHERE content_id = ? AND part_id = ?').run(
    contentId,
    partId
  )
  hideUnused(db, partId)
}

/**
 * @param {Database} db
 * @param {number} partId
 */
function hideUnused(db, partId) {
  prepared(
    db,
    `UPDATE shared_parts SET hash = NULL
     WHERE id = $id AND NOT EXISTS (SELECT 1 FROM shared_part_uses WHERE part_id = $id)`
  ).run({ id: partId })
}

/**
 * @param {Database} db
 * @param {number} partId
 * @returns {boolean} false: it is not complete, or no message needs it any more
 */
export const isComplete = (db, partId) =>
  prepared(db, 'SELECT 1 FROM shared_parts WHERE id = ? AND hash IS NOT NULL', 'value').get(
    partId
  ) !== undefined

/**
 * @param {Database} db
 * @param {number} contentId
 * @param {number} partId
 * @returns {boolean} false: the content has been swept, and the part may have been
 */
export const isInUse = (db, contentId, partId) =>
  prepared(db, 'SELECT 1 FROM shared_part_uses WHERE content_id = ? AND part_id = ?', 'value').get(
    contentId,
    partId
  ) !== undefined

/**
 * @param {Database} db
 * @param {PartPlace} place
 */
export function insertPlace(db, { contentId, start, line, size, sample }) {
  prepared(
    db,
    `INSERT OR IGNORE INTO part_places (content_id, start, line, size, sample, is_shared) VALUES (?, ?, ?, ?, ?, 0)`
  ).run(contentId, start, line, size, sample)
}

/**
 * @param {Database} db
 * @param {PartPlace} place
 * @returns {boolean} whether another place seems to have the same bytes
 */
export const hasTwin = (db, { contentId, start, size, sample }) =>
  prepared(
    db,
    'SELECT 1 FROM part_places WHERE sample = ? AND size = ? AND (content_id, start) <> (?, ?) LIMIT 1',
    'value'
  ).get(sample, size, contentId, start) !== undefined

/**
 * @param {Database} db
 * @param {PartPlace} place
 * @param {number} limit
 * @returns {PartPlace[]} places that seem to have the same bytes, and do not share them yet: this one too
 */
export function readUnshared(db, { size, sample }, limit) {
  const rows = /** @type {[number, number, number][]} */ (
    prepared(
      db,
      `SELECT content_id, start, line FROM part_places WHERE sample = ? AND size = ? AND is_shared = 0
       LIMIT ? + 0`,
      'array'
    ).all(sample, size, limit)
  )
  return rows.map(([contentId, start, line]) => ({ contentId, start, line, size, sample }))
}

/**
 * @param {Database} db
 * @param {PartPlace} place - whose chunks have been looked at
 */
export function noteShared(db, { contentId, start }) {
  prepared(db, 'UPDATE part_places SET is_shared = 1 WHERE content_id = ? AND start = ?').run(
    contentId,
    start
  )
}

/**
 * Puts contents on the list of those that are to be looked at, unless they have been.
 *
 * @param {Database} db
 * @param {number} contentId - of a complete content
 */
export function queueContent(db, contentId) {
  prepared(
    db,
    `INSERT OR IGNORE INTO part_queue (content_id)
     SELECT id FROM contents WHERE id = $id AND NOT EXISTS (SELECT 1 FROM part_places WHERE content_id = $id)`
  ).run({ id: contentId })
}

/**
 * @param {Database} db
 * @param {number} limit
 * @returns {{ id: number, size: number }[]} contents that are to be looked at, by id
 */
export const readQueue = (db, limit) =>
  /** @type {{ id: number, size: number }[]} */ (
    prepared(
      db,
      `SELECT q.content_id AS id, c.size FROM part_queue q CROSS JOIN contents c ON c.id = q.content_id
       ORDER BY q.content_id LIMIT ? + 0`
    ).all(limit)
  )

/**
 * @param {Database} db
 * @param {number} contentId - that has been looked at
 */
export function takeOffQueue(db, contentId) {
  prepared(db, 'DELETE FROM part_queue WHERE content_id = ?').run(contentId)
}

/**
 * Leaves the parts of an indexer that was stopped while it made them to the next sweep: nothing refers to them.
 *
 * @param {Database} db - of the only indexer
 */
export function leaveUnfinishedParts(db) {
  prepared(
    db,
    'DELETE FROM shared_part_uses WHERE part_id IN (SELECT id FROM shared_parts WHERE hash IS NULL)'
  ).run()
}

/**
 * To be called before a content is deleted: what nobody else needs is left to the sweep.
 *
 * @param {Database} db
 * @param {number} contentId
 */
export function leavePartsOf(db, contentId) {
  const partIds = /** @type {number[]} */ (
    prepared(
      db,
      'DELETE FROM shared_part_uses WHERE content_id = ? RETURNING part_id',
      'value'
    ).all(contentId)
  )
  for (const id of partIds) hideUnused(db, id)
}

/** Parts for the sweep. One that is still being made has no hash either, but a use from its beginning. */
export const UNUSED_PARTS = `SELECT id, size FROM shared_parts
  WHERE hash IS NULL AND NOT EXISTS (SELECT 1 FROM shared_part_uses WHERE part_id = shared_parts.id)`

/**
 * @param {Database} db
 * @param {number} maxChunks - that are deleted at most
 * @returns {boolean} whether there was something to delete
 */
export function sweepParts(db, maxChunks) {
  const parts = /** @type {[number, number][]} */ (
    prepared(db, `${UNUSED_PARTS} LIMIT ? + 0`, 'array').all(maxChunks)
  )
  const remove = prepared(db, 'DELETE FROM shared_parts WHERE id = ?')
  let left = maxChunks
  for (const [id, size] of parts) {
    if (left <= 0 || deleteChunks(db, id, left)) break
    remove.run(id)
    left -= Math.ceil(size / PART_CHUNK_BYTES)
  }
  return parts.length > 0
}
