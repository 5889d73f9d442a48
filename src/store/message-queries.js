/**
 * Questions about the messages of one mailbox that neither its view nor its counters answer. Everything here runs
 * inside a read of the caller.
 */
import { prepared } from '../database/statement.js'
import { DELETED } from './flags.js'
import { messageRowId, uidOfRow } from './row-ids.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Rows in one look: about a millisecond. */
const PAGE_ROWS = 4000

/**
 * One page of the sum of the sizes of messages with \Deleted.
 *
 * @param {Database} db
 * @param {number} mailboxId
 * @param {number} fromUid - where the page begins
 * @param {number} [maxRows] - that are looked at
 * @returns {{ bytes: number, nextUid: number | null }} `nextUid`: where the next page begins; null after the last
 */
export function sumDeletedPage(db, mailboxId, fromUid, maxRows = PAGE_ROWS) {
  const { bytes, count, last } = /** @type {{ bytes: number, count: number, last: number }} */ (
    prepared(
      db,
      `SELECT coalesce(sum(CASE WHEN flags & ${DELETED} THEN size ELSE 0 END), 0) AS bytes,
         count(*) AS count, coalesce(max(id), 0) AS last
       FROM (SELECT id, flags, size FROM messages WHERE id >= ? AND id < ? ORDER BY id LIMIT ? + 0)`
    ).get(messageRowId(mailboxId, fromUid), messageRowId(mailboxId + 1, 0), maxRows)
  )
  return { bytes, nextUid: count < maxRows ? null : uidOfRow(last) + 1 }
}

/**
 * One page of the messages with a content.
 *
 * @param {Database} db
 * @param {object} wanted
 * @param {number} wanted.mailboxId
 * @param {number} wanted.contentId
 * @param {number} wanted.fromUid - where the page begins
 * @param {number} [maxRows]
 * @returns {{ uids: number[], nextUid: number | null }} `uids`: ascending; `nextUid`: where the next page begins; null after
 *   the last
 */
export function findUidsOfContent(db, { mailboxId, contentId, fromUid }, maxRows = PAGE_ROWS) {
  const ids = /** @type {number[]} */ (
    prepared(
      db,
      'SELECT id FROM messages WHERE content_id = ? AND id >= ? AND id < ? ORDER BY id LIMIT ? + 0',
      'value'
    ).all(contentId, messageRowId(mailboxId, fromUid), messageRowId(mailboxId + 1, 0), maxRows)
  )
  const uids = ids.map(uidOfRow)
  return { uids, nextUid: ids.length < maxRows ? null : (uids.at(-1) ?? 0) + 1 }
}
