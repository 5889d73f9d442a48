/**
 * The list of contents that are complete and not in the search index. Those above a mark (`search_state.listed_through`)
 * are on it by their id, so that a message that comes writes no row for it; those up to the mark have rows of
 * `search_listed`. Everything here runs inside a transaction or read of the caller.
 *
 *     ids   1 … 40 │ 41 … 57
 *                  └ the mark: of 1 … 40 the rows (3, 12) are on the list, of 41 … 57 all that are complete
 */
import { prepared } from '../../database/statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/**
 * @param {Database} db
 * @returns {number} content id: complete contents above it are on the list
 */
export const readMark = (db) =>
  Number(prepared(db, 'SELECT listed_through FROM search_state', 'value').get())

/**
 * @param {Database} db
 * @param {number} after - content id
 * @param {number} limit
 * @returns {{ id: number, size: number }[]} contents that are to be indexed, by id
 */
export function readPending(db, after, limit) {
  // CROSS JOIN: the list first. The planner has no statistics of an empty list and takes it for a long one: it would go
  // through all contents, which held the event loop for 200 ms in a mailbox of 100,000 messages.
  const listed = prepared(
    db,
    `SELECT p.content_id AS id, c.size FROM search_listed p CROSS JOIN contents c ON c.id = p.content_id
     WHERE p.content_id > ? AND p.is_left_out = 0 ORDER BY p.content_id LIMIT ? + 0`
  ).all(after, limit)
  const above = prepared(
    db,
    'SELECT id, size FROM contents WHERE id > ? AND hash IS NOT NULL ORDER BY id LIMIT ? + 0'
  ).all(Math.max(after, readMark(db)), limit - listed.length)
  return /** @type {{ id: number, size: number }[]} */ ([...listed, ...above])
}

/**
 * A page of the list, those left out of the index included.
 *
 * @param {Database} db
 * @param {number} mark - of `readMark`, before the first page. A content that is indexed meanwhile may still be named; one that
 *   is not in the index is always named
 * @param {number} after - content id
 * @param {number} limit
 * @returns {number[]} content ids, ascending; fewer than the limit: it was the last page
 */
export function readPendingIds(db, mark, after, limit) {
  const listed = prepared(
    db,
    'SELECT content_id FROM search_listed WHERE content_id > ? AND content_id <= ? ORDER BY content_id LIMIT ? + 0',
    'value'
  ).all(after, mark, limit)
  const above = prepared(
    db,
    'SELECT id FROM contents WHERE id > ? AND hash IS NOT NULL ORDER BY id LIMIT ? + 0',
    'value'
  ).all(Math.max(after, mark), limit - listed.length)
  return /** @type {number[]} */ ([...listed, ...above])
}

/**
 * @param {Database} db
 * @param {number} count
 * @returns {boolean} whether so many contents are to be indexed, or more
 */
export function hasPending(db, count) {
  const listed = prepared(
    db,
    'SELECT count(*) FROM (SELECT 1 FROM search_listed WHERE is_left_out = 0 LIMIT ? + 0)',
    'value'
  ).get(count)
  const above = prepared(
    db,
    'SELECT count(*) FROM (SELECT 1 FROM contents WHERE id > ? AND hash IS NOT NULL LIMIT ? + 0)',
    'value'
  ).get(readMark(db), count)
  return Number(listed) + Number(above) >= count
}

/**
 * @param {Database} db
 * @param {number} limit - contents that are looked at, at most, of each half of the list
 * @returns {{ count: number, bytes: number }} contents that are to be indexed
 */
export function sumPending(db, limit) {
  const listed = prepared(
    db,
    `SELECT count(*) AS count, total(size) AS bytes FROM (
       SELECT c.size FROM search_listed p CROSS JOIN contents c ON c.id = p.content_id
       WHERE p.is_left_out = 0 LIMIT ? + 0)`
  ).get(limit)
  const above = prepared(
    db,
    `SELECT count(*) AS count, total(size) AS bytes FROM (
       SELECT size FROM contents WHERE id > ? AND hash IS NOT NULL LIMIT ? + 0)`
  ).get(readMark(db), limit)
  const sums = /** @type {{ count: number, bytes: number }[]} */ ([listed, above])
  return {
    count: sums.reduce((sum, { count }) => sum + count, 0),
    bytes: sums.reduce((sum, { bytes }) => sum + bytes, 0)
  }
}

/**
 * Raises the mark. What stays on the list has rows then, also what has come to be complete in between.
 *
 * @param {Database} db - in a transaction
 * @param {number} contentId
 */
export function raiseMark(db, contentId) {
  prepared(
    db,
    `INSERT OR IGNORE INTO search_listed (content_id)
     SELECT id FROM contents WHERE id > ? AND id <= ? AND hash IS NOT NULL`
  ).run(readMark(db), contentId)
  prepared(db, 'UPDATE search_state SET listed_through = ? WHERE listed_through < ?').run(
    contentId,
    contentId
  )
}
