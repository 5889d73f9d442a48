/**
 * Messages that have been in a mailbox for long, by the time at which they came into it (SAVEDATE, RFC 8514).
 */
import { prepared } from '../../database/statement.js'
import { messageRowId, uidOfRow } from '../row-ids.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Rows in one read: some 2 ms. */
const PAGE_ROWS = 5000

/**
 * @param {Database} db
 * @param {object} request
 * @param {number} request.mailboxId
 * @param {number} request.beforeMs
 * @param {number} request.afterUid - where the page begins; 0 for the first
 * @returns {{ uids: number[], nextUid: number | null }} UIDs of the page's messages that came in before, ascending;
 *   `nextUid` is the `afterUid` of the next page, null after the last
 */
export function findOldPage(db, { mailboxId, beforeMs, afterUid }) {
  const rows = /** @type {[number, number][]} */ (
    prepared(
      db,
      'SELECT id, saved_at FROM messages WHERE id > ? AND id < ? ORDER BY id LIMIT ? + 0',
      'array'
    ).all(messageRowId(mailboxId, afterUid), messageRowId(mailboxId + 1, 0), PAGE_ROWS)
  )
  const last = rows[rows.length - 1]
  return {
    uids: rows.filter(([, savedAtMs]) => savedAtMs < beforeMs).map(([id]) => uidOfRow(id)),
    nextUid: last !== undefined && rows.length === PAGE_ROWS ? uidOfRow(last[0]) : null
  }
}
