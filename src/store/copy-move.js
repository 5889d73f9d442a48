/**
 * COPY and MOVE: all messages or none, in one transaction. Copies share the content, and keep flags, keywords and
 * INTERNALDATE (RFC 9051 §6.4.7). Runs on the store's connection, or in a thread when it is long.
 */
import { MailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { expungeRows } from './expunge.js'
import { DELETED, SEEN } from './flags.js'
import {
  findMailboxRowById,
  moveCounters,
  nextModSeq,
  requireMailboxRow,
  requireMailboxRowById
} from './mailbox-rows.js'
import { messageRowId } from './message-id.js'
import { requireQuota } from './quota.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./mailbox-view.js').ViewRow} ViewRow
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
 * @property {ViewRow[]} rows - in the target
 * @property {number} targetModSeq
 * @property {number} sourceModSeq - of the source after a move
 */

/** Messages that are copied without a thread: about 10 ms. */
export const COPY_INLINE = 1000

const NARROW = `id, flags, keywords, internal_date AS internalDate, internal_zone AS internalZone, size,
  content_id AS contentId`

/**
 * @typedef {object} NarrowRow
 * @property {number} id
 * @property {number} flags
 * @property {number} keywords
 * @property {number} internalDate
 * @property {number} internalZone
 * @property {number} size
 * @property {number} contentId
 */

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
 * @param {readonly number[]} uids
 * @returns {{ uid: number, row: NarrowRow }[]} those that are there
 */
function readSources(db, mailboxId, uids) {
  const read = prepared(db, `SELECT ${NARROW} FROM messages WHERE id = ?`)
  const sources = []
  for (const uid of uids) {
    const row = /** @type {NarrowRow | undefined} */ (read.get(messageRowId(mailboxId, uid)))
    if (row) sources.push({ uid, row })
  }
  return sources
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
  const bytes = sources.reduce((sum, { row }) => sum + row.size, 0)
  if (quota && !isMove) requireQuota(db, quota, { bytes, messages: sources.length })
  const modSeq = nextModSeq(target)
  const insert = prepared(
    db,
    `INSERT INTO messages (id, modseq, flags, keywords, internal_date, internal_zone, saved_at, size, content_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  )
  /** @type {ViewRow[]} */
  const rows = []
  const change = { messages: sources.length, unseen: 0, deleted: 0, bytes, uids: sources.length }
  for (const { row } of sources) {
    const uid = target.uidNext + rows.length
    const { flags, keywords, internalDate, internalZone, size, contentId } = row
    const id = messageRowId(target.id, uid)
    insert.run(id, modSeq, flags, keywords, internalDate, internalZone, nowMs, size, contentId)
    rows.push({ uid, modSeq, flags, keywords })
    if (!(flags & SEEN)) change.unseen++
    if (flags & DELETED) change.deleted++
  }
  if (rows.length > 0) moveCounters(db, target, change)
  const sourceUids = sources.map(({ uid }) => uid)
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
    uids: rows.map(({ uid }) => uid),
    rows,
    targetModSeq: rows.length > 0 ? modSeq : target.highestModSeq,
    sourceModSeq
  }
}
