/**
 * Taking messages out of a mailbox: EXPUNGE, and the second half of MOVE. Their contents are left to the sweep.
 */
import { prepared } from '../database/statement.js'
import { DELETED, SEEN } from './flags.js'
import { moveCounters, nextModSeq, requireMailboxRowById } from './mailbox-rows.js'
import { messageRowId } from './message-id.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} ExpungePage
 * @property {number[]} uids - gone, ascending
 * @property {number} modSeq - the mailbox's after it
 */

/** Messages in one transaction: about 10 ms. */
export const EXPUNGE_PAGE = 1000

/**
 * @param {readonly number[]} uids - ascending
 * @returns {{ first: number, last: number }[]} runs without a gap
 */
export function toRanges(uids) {
  /** @type {{ first: number, last: number }[]} */
  const ranges = []
  for (const uid of uids) {
    const open = ranges[ranges.length - 1]
    if (open && open.last + 1 === uid) open.last = uid
    else ranges.push({ first: uid, last: uid })
  }
  return ranges
}

/**
 * @param {Database} db
 * @param {object} request
 * @param {number} request.mailboxId
 * @param {readonly number[]} request.uids - ascending
 * @param {boolean} request.onlyDeleted - leave those without \Deleted (RFC 9051 §6.4.9)
 * @param {number} request.nowMs
 * @returns {ExpungePage}
 * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND
 */
export function expungeRows(db, { mailboxId, uids, onlyDeleted, nowMs }) {
  const mailbox = requireMailboxRowById(db, mailboxId)
  const read = prepared(
    db,
    'SELECT flags, size, content_id AS contentId FROM messages WHERE id = ?'
  )
  const remove = prepared(db, 'DELETE FROM messages WHERE id = ?')
  const leave = prepared(db, 'INSERT OR IGNORE INTO garbage_contents (content_id) VALUES (?)')
  const gone = []
  const change = { messages: 0, unseen: 0, deleted: 0, bytes: 0 }
  for (const uid of uids) {
    const id = messageRowId(mailboxId, uid)
    const row = /** @type {{ flags: number, size: number, contentId: number } | undefined} */ (
      read.get(id)
    )
    if (!row || (onlyDeleted && !(row.flags & DELETED))) continue
    remove.run(id)
    leave.run(row.contentId)
    gone.push(uid)
    change.messages--
    change.bytes -= row.size
    if (!(row.flags & SEEN)) change.unseen--
    if (row.flags & DELETED) change.deleted--
  }
  if (gone.length === 0) return { uids: gone, modSeq: mailbox.highestModSeq }
  const modSeq = nextModSeq(mailbox)
  const log = prepared(
    db,
    `INSERT INTO expunged (mailbox_id, modseq, first_uid, last_uid, expunged_at) VALUES (?, ?, ?, ?, ?)`
  )
  for (const { first, last } of toRanges(gone)) log.run(mailboxId, modSeq, first, last, nowMs)
  moveCounters(db, mailbox, change)
  return { uids: gone, modSeq }
}
