/**
 * COPY and MOVE: all messages or none, in one transaction. Copies share the content, and keep flags, keywords and
 * INTERNALDATE (RFC 9051 §6.4.7). Runs on the store's connection, or in a thread when it is long.
 */
import { MailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { expungeRows, toRanges } from './expunge.js'
import { DELETED, SEEN } from './flags.js'
import {
  findMailboxRowById,
  moveCounters,
  nextModSeq,
  requireMailboxRow,
  requireMailboxRowById,
  requireUids
} from './mailbox-rows.js'
import { messageRowId, uidOfRow } from './row-ids.js'
import { requireQuota } from './quota.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} CopyRequest
 * @property {number} fromMailboxId
 * @property {string} toMailbox
 * @property {ReadonlyArray<number> | Readonly<Uint32Array> | null} uids - ascending; null: all that are there
 * @property {boolean} isMove
 * @property {boolean} [isExact] - fails where one of them has gone; otherwise those that have are left out
 * @property {import('./quota.js').Quota | null} quota - null: exempt
 * @property {number} nowMs
 *
 * @typedef {object} CopyResult
 * @property {number} toMailboxId
 * @property {number} uidValidity - of the target
 * @property {Uint32Array} sourceUids - copied, ascending
 * @property {Uint32Array} uids - in the target, in the same order, each one more than the one before
 * @property {Uint32Array} flags - of the copies, in the same order; an object for each of 30,000, that comes from a thread,
 *   would hold up the event loop for some 10 ms
 * @property {Uint32Array} keywords - the same
 * @property {number} targetModSeq
 * @property {number} sourceModSeq - of the source after a move
 */

/**
 * What is copied without a thread: up to so many messages, in up to so many runs of UIDs. Scattered ones stand on a page of
 * their own in the index of contents, and cost twice as much: some 5 ms either way, 9 ms to move them.
 */
export const COPY_INLINE = 1000
const COPY_INLINE_RUNS = 500

/**
 * Rows that are read, or written, by one statement. All are in memory as arrays, or as text that SQLite takes apart: a million
 * at once would take hundreds of megabytes.
 */
const COPY_PAGE = 1000

/**
 * @typedef {object} Sources - in the order of their UIDs; in columns, because an array for each of a million rows takes ten times
 *   as much
 * @property {number[]} uids
 * @property {Uint32Array} flags
 * @property {Uint32Array} keywords
 * @property {number} bytes - of all
 */

/**
 * @param {readonly number[]} uids - ascending, of the messages to be copied or moved
 * @returns {boolean} whether that would hold up the event loop for too long
 */
export const isLongTransfer = (uids) =>
  uids.length > COPY_INLINE ||
  (uids.length > COPY_INLINE_RUNS && toRanges(uids).length > COPY_INLINE_RUNS)

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @returns {number[]} ascending
 */
function allUids(db, mailboxId) {
  const base = messageRowId(mailboxId, 0)
  const ids = /** @type {number[]} */ (
    prepared(db, 'SELECT id FROM messages WHERE id > ? AND id < ? ORDER BY id', 'value').all(
      base,
      messageRowId(mailboxId + 1, 0)
    )
  )
  return ids.map((id) => id - base)
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {ReadonlyArray<number> | Readonly<Uint32Array>} wanted - UIDs, ascending
 * @returns {Sources} those that are there
 */
function readSources(db, mailboxId, wanted) {
  const read = prepared(
    db,
    'SELECT id, flags, keywords, size FROM messages WHERE id BETWEEN ? AND ? ORDER BY id',
    'array'
  )
  /** @type {number[]} */
  const uids = []
  const flags = new Uint32Array(wanted.length)
  const keywords = new Uint32Array(wanted.length)
  let bytes = 0
  for (const { first, last } of toRanges(wanted)) {
    for (let from = first; from <= last; from += COPY_PAGE) {
      const to = Math.min(last, from + COPY_PAGE - 1)
      const rows = read.all(messageRowId(mailboxId, from), messageRowId(mailboxId, to))
      for (const row of /** @type {[number, number, number, number][]} */ (rows)) {
        flags[uids.length] = row[1]
        keywords[uids.length] = row[2]
        bytes += row[3]
        uids.push(uidOfRow(row[0]))
      }
    }
  }
  const { length } = uids
  return { uids, flags: flags.slice(0, length), keywords: keywords.slice(0, length), bytes }
}

/**
 * @param {Database} db
 * @param {object} copy
 * @param {number} copy.fromMailboxId
 * @param {readonly number[]} copy.uids
 * @param {number} copy.toMailboxId
 * @param {number} copy.firstUid - of the copies
 * @param {number} copy.modSeq
 * @param {number} copy.nowMs
 */
function insertCopies(db, { fromMailboxId, uids, toMailboxId, firstUid, modSeq, nowMs }) {
  // One statement for many: a call for each row takes half as long again.
  const insert = prepared(
    db,
    `INSERT INTO messages (id, modseq, flags, keywords, internal_date, internal_zone, saved_at, size, content_id)
     SELECT ? + wanted.key, ?, m.flags, m.keywords, m.internal_date, m.internal_zone, ?, m.size, m.content_id
     FROM json_each(?) AS wanted CROSS JOIN messages AS m ON m.id = wanted.value`
  )
  for (let at = 0; at < uids.length; at += COPY_PAGE) {
    const ids = uids.slice(at, at + COPY_PAGE).map((uid) => messageRowId(fromMailboxId, uid))
    insert.run(messageRowId(toMailboxId, firstUid + at), modSeq, nowMs, JSON.stringify(ids))
  }
}

/**
 * @param {Database} db
 * @param {CopyRequest} request
 * @returns {CopyResult}
 * @throws {MailError} MAILBOX_NOT_FOUND where there is no such target; MESSAGE_GONE, also where the source has gone as a whole;
 *   OVER_QUOTA, LIMIT
 */
export function copyRows(db, { fromMailboxId, toMailbox, uids, isMove, isExact, quota, nowMs }) {
  if (findMailboxRowById(db, fromMailboxId) === undefined) throw new MailError('MESSAGE_GONE')
  const target = requireMailboxRow(db, toMailbox)
  const wanted = uids ?? allUids(db, fromMailboxId)
  const { uids: sourceUids, flags, keywords, bytes } = readSources(db, fromMailboxId, wanted)
  const count = sourceUids.length
  if (isExact === true && count < wanted.length) throw new MailError('MESSAGE_GONE')
  if (quota && !isMove) requireQuota(db, quota, { bytes, messages: count })
  requireUids(target, count)
  const modSeq = nextModSeq(target)
  insertCopies(db, {
    fromMailboxId,
    uids: sourceUids,
    toMailboxId: target.id,
    firstUid: target.uidNext,
    modSeq,
    nowMs
  })
  const change = { messages: count, unseen: 0, deleted: 0, bytes, uids: count }
  for (const bits of flags) {
    if (!(bits & SEEN)) change.unseen++
    if (bits & DELETED) change.deleted++
  }
  if (count > 0) moveCounters(db, target, change)
  const sourceModSeq = isMove
    ? expungeRows(db, {
        mailboxId: fromMailboxId,
        uids: sourceUids,
        onlyDeleted: false,
        areMoved: true,
        nowMs
      }).modSeq
    : requireMailboxRowById(db, fromMailboxId).highestModSeq
  return {
    toMailboxId: target.id,
    uidValidity: target.uidValidity,
    sourceUids: Uint32Array.from(sourceUids),
    uids: new Uint32Array(count).map((_, index) => target.uidNext + index),
    flags,
    keywords,
    targetModSeq: count > 0 ? modSeq : target.highestModSeq,
    sourceModSeq
  }
}
