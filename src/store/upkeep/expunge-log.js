/**
 * Forgets what was expunged long ago. A client that comes back with an older mod-sequence is then told every UID that
 * has no message (RFC 7162 §3.2.5.2: a server need not keep the log for ever), which is longer but as true.
 */
import { prepared } from '../../database/statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Rows in one transaction: some milliseconds. */
const PAGE_ROWS = 1000

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {number} beforeMs
 * @returns {boolean} whether the log begins with what was expunged before; needs no transaction
 */
export function hasOldExpunged(db, mailboxId, beforeMs) {
  const oldestMs = prepared(
    db,
    'SELECT expunged_at FROM expunged WHERE mailbox_id = ? ORDER BY modseq, first_uid LIMIT 1',
    'value'
  ).get(mailboxId)
  return oldestMs !== undefined && /** @type {number} */ (oldestMs) < beforeMs
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {number} beforeMs - what was expunged before; Infinity: all
 * @returns {number} rows that are gone; fewer than a page: there is nothing more
 */
export function pruneExpungedPage(db, mailboxId, beforeMs) {
  const rows = /** @type {[number, number, number][]} */ (
    prepared(
      db,
      `SELECT modseq, first_uid, expunged_at FROM expunged WHERE mailbox_id = ?
       ORDER BY modseq, first_uid LIMIT ? + 0`,
      'array'
    ).all(mailboxId, PAGE_ROWS)
  )
  const remove = prepared(
    db,
    'DELETE FROM expunged WHERE mailbox_id = ? AND modseq = ? AND first_uid = ?'
  )
  let gone = 0
  let floor = 0
  // In the order of mod-sequences and up to the first that stays: the log has no holes above its floor.
  for (const [modSeq, firstUid, expungedAtMs] of rows) {
    if (expungedAtMs >= beforeMs) break
    remove.run(mailboxId, modSeq, firstUid)
    floor = modSeq
    gone++
  }
  if (gone > 0)
    prepared(db, 'UPDATE mailboxes SET expunged_floor = max(expunged_floor, ?) WHERE id = ?').run(
      floor,
      mailboxId
    )
  return gone
}

/** @param {number} gone - of pruneExpungedPage */
export const isLastPage = (gone) => gone < PAGE_ROWS

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @returns {boolean} whether the log has more than a page of rows
 */
export const hasLongLog = (db, mailboxId) =>
  prepared(db, 'SELECT 1 FROM expunged WHERE mailbox_id = ? LIMIT 1 OFFSET ?', 'value').get(
    mailboxId,
    PAGE_ROWS
  ) !== undefined
