/**
 * Taking messages out of a mailbox: EXPUNGE, and the second half of MOVE. Their contents are left to the sweep.
 */
import { prepared } from '../database/statement.js'
import { DELETED, SEEN } from './flags.js'
import { inPages } from './in-pages.js'
import { leaveContentsOf } from './left-contents.js'
import { moveCounters, nextModSeq, requireMailboxRowById } from './mailbox-rows.js'
import { messageRowId, uidOfRow } from './row-ids.js'
import { dropViewBlocks } from './view-blocks.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('./mailbox-rows.js').MailboxChange} MailboxChange
 *
 * @typedef {object} ExpungePage
 * @property {number[]} uids - gone, ascending
 * @property {number} modSeq - the mailbox's after it
 */

/** Messages in one transaction: 3 ms in runs of UIDs. */
const EXPUNGE_PAGE = 2000

/** And so many such runs: about 5 ms when each message stands alone. */
const EXPUNGE_RUNS = 500

/**
 * @param {MailboxView} view
 * @param {ReadonlyArray<number> | null} [slots] - only among these, ascending; null: all
 * @returns {number[]} UIDs that have \Deleted, ascending
 */
export function deletedUids(view, slots = null) {
  const uids = []
  const count = slots?.length ?? view.length
  for (let nth = 0; nth < count; nth++) {
    const slot = slots === null ? nth : /** @type {number} */ (slots[nth])
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
  const limits = { pageSize: EXPUNGE_PAGE, pageRuns: EXPUNGE_RUNS }
  const pages = await inPages(candidates, limits, (uids) =>
    database.write((db) => expungeRows(db, { mailboxId, uids, onlyDeleted, nowMs }), {
      isChange: ({ uids: expunged }) => expunged.length > 0,
      onDurable: ({ uids: expunged, modSeq }) =>
        views.publish({ mailboxId, modSeq, expunged, origin })
    })
  )
  // `flatMap` takes ten times as long. Where they are many to be given as arguments, each page is large.
  return /** @type {number[]} */ ([]).concat(...pages.map(({ uids }) => uids))
}

/**
 * @param {Iterable<number>} uids - ascending
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
 * Deletes rows by runs of UIDs: a statement for each run, not for each message.
 *
 * @param {Database} db
 * @param {object} request
 * @param {number} request.mailboxId
 * @param {readonly number[]} request.uids - ascending
 * @param {boolean} request.onlyDeleted - leave those without \Deleted (RFC 9051 §6.4.9)
 * @param {boolean} [request.areMoved] - their contents are still in use: nothing is left to the sweep
 * @param {number} request.nowMs
 * @returns {ExpungePage}
 * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND
 */
export function expungeRows(db, { mailboxId, uids, onlyDeleted, areMoved = false, nowMs }) {
  const mailbox = requireMailboxRowById(db, mailboxId)
  const { gone, change } = readDoomed(db, mailboxId, uids, onlyDeleted)
  if (gone.length === 0) return { uids: gone, modSeq: mailbox.highestModSeq }
  const modSeq = nextModSeq(mailbox)
  const remove = prepared(db, 'DELETE FROM messages WHERE id BETWEEN ? AND ?')
  const log = prepared(
    db,
    `INSERT INTO expunged (mailbox_id, modseq, first_uid, last_uid, expunged_at) VALUES (?, ?, ?, ?, ?)`
  )
  const ranges = toRanges(gone)
  for (const { first, last } of ranges) {
    const firstId = messageRowId(mailboxId, first)
    const lastId = messageRowId(mailboxId, last)
    if (!areMoved) leaveContentsOf(db, { firstId, lastId, nowMs })
    remove.run(firstId, lastId)
    log.run(mailboxId, modSeq, first, last, nowMs)
  }
  dropViewBlocks(db, mailboxId, ranges)
  moveCounters(db, mailbox, change)
  return { uids: gone, modSeq }
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {readonly number[]} uids - ascending
 * @param {boolean} onlyDeleted
 * @returns {{ gone: number[], change: Required<Omit<MailboxChange, 'uids'>> }} those that are there and may go, and what
 *   their going changes
 */
function readDoomed(db, mailboxId, uids, onlyDeleted) {
  const read = prepared(
    db,
    'SELECT id, flags, size FROM messages WHERE id BETWEEN ? AND ? ORDER BY id',
    'array'
  )
  const gone = []
  const change = { messages: 0, unseen: 0, deleted: 0, bytes: 0 }
  for (const { first, last } of toRanges(uids)) {
    const range = [messageRowId(mailboxId, first), messageRowId(mailboxId, last)]
    for (const [id, flags, size] of /** @type {[number, number, number][]} */ (read.all(range))) {
      if (onlyDeleted && !(flags & DELETED)) continue
      gone.push(uidOfRow(id))
      change.messages--
      change.bytes -= size
      if (!(flags & SEEN)) change.unseen--
      if (flags & DELETED) change.deleted--
    }
  }
  return { gone, change }
}
