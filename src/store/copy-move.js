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
 * @property {ReadonlyArray<number> | null} uids - ascending; null: all that are there
 * @property {boolean} isMove
 * @property {boolean} [isExact] - fails where one of them has gone; otherwise those that have are left out
 * @property {import('./quota.js').Quota | null} quota - null: exempt
 * @property {number} nowMs
 *
 * @typedef {object} CopyResult
 * @property {number} toMailboxId
 * @property {number} uidValidity - of the target
 * @property {number[]} sourceUids - copied, ascending
 * @property {number[]} uids - in the target, in the same order
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

/** @typedef {[id: number, flags: number, keywords: number, size: number]} SourceRow */

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
 * @param {readonly number[]} uids - ascending
 * @returns {SourceRow[]} those that are there, by UID
 */
function readSources(db, mailboxId, uids) {
  const read = prepared(
    db,
    'SELECT id, flags, keywords, size FROM messages WHERE id BETWEEN ? AND ? ORDER BY id',
    'array'
  )
  return toRanges(uids).flatMap(
    ({ first, last }) =>
      /** @type {SourceRow[]} */ (
        read.all(messageRowId(mailboxId, first), messageRowId(mailboxId, last))
      )
  )
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
  const sources = readSources(db, fromMailboxId, wanted)
  if (isExact === true && sources.length < wanted.length) throw new MailError('MESSAGE_GONE')
  const bytes = sources.reduce((sum, [, , , size]) => sum + size, 0)
  if (quota && !isMove) requireQuota(db, quota, { bytes, messages: sources.length })
  requireUids(target, sources.length)
  const modSeq = nextModSeq(target)
  // One statement for all: a call for each row takes half as long again.
  prepared(
    db,
    `INSERT INTO messages (id, modseq, flags, keywords, internal_date, internal_zone, saved_at, size, content_id)
     SELECT ? + wanted.key, ?, m.flags, m.keywords, m.internal_date, m.internal_zone, ?, m.size, m.content_id
     FROM json_each(?) AS wanted CROSS JOIN messages AS m ON m.id = wanted.value`
  ).run(
    messageRowId(target.id, target.uidNext),
    modSeq,
    nowMs,
    JSON.stringify(sources.map(([id]) => id))
  )
  const count = sources.length
  const change = { messages: count, unseen: 0, deleted: 0, bytes, uids: count }
  for (const [, flags] of sources) {
    if (!(flags & SEEN)) change.unseen++
    if (flags & DELETED) change.deleted++
  }
  if (count > 0) moveCounters(db, target, change)
  const sourceUids = sources.map(([id]) => uidOfRow(id))
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
    sourceUids,
    uids: Array.from(sources, (_, index) => target.uidNext + index),
    flags: Uint32Array.from(sources, ([, flags]) => flags),
    keywords: Uint32Array.from(sources, ([, , keywords]) => keywords),
    targetModSeq: count > 0 ? modSeq : target.highestModSeq,
    sourceModSeq
  }
}
