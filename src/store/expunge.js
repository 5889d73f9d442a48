/**
 * Taking messages out of a mailbox: EXPUNGE, and the second half of MOVE. Their contents are left to the sweep.
 */
import { setImmediate } from 'node:timers/promises'
import { prepared } from '../database/statement.js'
import { DELETED, SEEN } from './flags.js'
import { moveCounters, nextModSeq, requireMailboxRowById } from './mailbox-rows.js'
import { messageRowId } from './message-id.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 *
 * @typedef {object} ExpungePage
 * @property {number[]} uids - gone, ascending
 * @property {number} modSeq - the mailbox's after it
 */

/** Messages in one transaction: about 10 ms. */
const EXPUNGE_PAGE = 400

/**
 * @param {MailboxView} view
 * @returns {number[]} UIDs that have \Deleted, ascending
 */
function deletedUids(view) {
  const uids = []
  for (let slot = 0; slot < view.length; slot++) {
    const isDeleted = ((view.flags[slot] ?? 0) & DELETED) !== 0
    if (isDeleted && !view.isExpunged(slot)) uids.push(/** @type {number} */ (view.uids[slot]))
  }
  return uids
}

/**
 * Deletes messages that have \Deleted (RFC 9051 §6.4.3, §6.4.9), a transaction for each page.
 *
 * @param {object} store
 * @param {import('./account-database.js').AccountDatabase} store.database
 * @param {import('./views.js').ViewKeeper} store.views
 * @param {object} request
 * @param {MailboxView} request.view
 * @param {ReadonlyArray<number> | null} request.uids - only among these, ascending; null: all
 * @param {unknown} [request.origin] - comes back in the change record
 * @returns {Promise<number[]>} UIDs that are gone by it, ascending
 */
export function expungeMessages(store, { view, uids, origin = null }) {
  const request = { mailboxId: view.mailboxId, uids: uids ?? deletedUids(view), onlyDeleted: true }
  return expungePages(store, { ...request, origin })
}

/**
 * Deletes messages of a mailbox, a transaction for each page.
 *
 * @param {object} store
 * @param {import('./account-database.js').AccountDatabase} store.database
 * @param {import('./views.js').ViewKeeper} store.views
 * @param {object} request
 * @param {number} request.mailboxId
 * @param {readonly number[]} request.uids - ascending
 * @param {boolean} request.onlyDeleted - leave those without \Deleted
 * @param {unknown} [request.origin] - comes back in the change record
 * @returns {Promise<number[]>} UIDs that are gone by it, ascending
 * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND, READ_ONLY
 */
export async function expungePages({ database, views }, request) {
  const { mailboxId, uids: candidates, onlyDeleted, origin = null } = request
  database.requireWritable()
  const nowMs = database.clock.nowMs()
  const gone = []
  for (let start = 0; start < candidates.length; start += EXPUNGE_PAGE) {
    if (start > 0) await setImmediate()
    const page = candidates.slice(start, start + EXPUNGE_PAGE)
    const result = await database.write(
      (db) => expungeRows(db, { mailboxId, uids: page, onlyDeleted, nowMs }),
      ({ uids: expunged, modSeq }) => {
        if (expunged.length > 0) return views.publish({ mailboxId, modSeq, expunged, origin })
      }
    )
    for (const uid of result.uids) gone.push(uid)
  }
  return gone
}

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
