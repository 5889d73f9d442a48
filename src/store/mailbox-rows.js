/**
 * Rows of `mailboxes`. Everything here runs inside a transaction or read of the caller.
 */
import { MailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { normalizeMailboxName } from './mailbox-name.js'
import { MAX_UID, messageRowId } from './row-ids.js'
import { composed } from '../support/composed.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} MailboxRow
 * @property {number} id
 * @property {string} name - full name in Unicode
 * @property {string | null} specialUse - such as `\Sent`
 * @property {boolean} isSubscribed
 * @property {number} uidValidity
 * @property {number} uidNext
 * @property {number} highestModSeq
 * @property {number} recentFromUid - messages from this UID on are \Recent
 * @property {number} expungedFloor - what was expunged up to this modseq is no longer known one by one
 * @property {number} messageCount
 * @property {number} unseenCount
 * @property {number} deletedCount
 * @property {number} totalBytes
 */

/** The table's own bound, so that messages.id stays below 2^53. */
const MAX_MAILBOX_ID = 2 ** 21 - 1

/** RFC 9051 §9: nz-number. */
const MAX_UID_VALIDITY = 2 ** 32 - 1

/** The last UIDVALIDITY taken from the clock: above it a million are left for mailboxes that are made one after the other. */
export const LAST_UID_VALIDITY_BY_TIME = 2 ** 32 - 2 ** 20

const COLUMNS = `m.id, m.name, m.special_use AS specialUse, m.uid_validity AS uidValidity, m.uid_next AS uidNext,
  m.highest_modseq AS highestModSeq, m.recent_from_uid AS recentFromUid, m.expunged_floor AS expungedFloor,
  m.message_count AS messageCount, m.unseen_count AS unseenCount, m.deleted_count AS deletedCount,
  m.total_bytes AS totalBytes, EXISTS (SELECT 1 FROM subscriptions s WHERE s.name = m.name) AS isSubscribed`

/**
 * @param {unknown} row
 * @returns {MailboxRow | undefined}
 */
function toMailboxRow(row) {
  if (row === undefined) return undefined
  const mailbox = /** @type {Omit<MailboxRow, 'isSubscribed'> & { isSubscribed: number }} */ (row)
  return { ...mailbox, isSubscribed: mailbox.isSubscribed === 1 }
}

/**
 * @param {Database} db
 * @returns {MailboxRow[]} by name
 */
export function listMailboxRows(db) {
  const rows = prepared(db, `SELECT ${COLUMNS} FROM mailboxes m ORDER BY m.name`).all()
  return rows.map((row) => /** @type {MailboxRow} */ (toMailboxRow(row)))
}

/**
 * @param {Database} db
 * @param {number} afterId
 * @param {number} limit
 * @returns {MailboxRow[]} by id
 */
export function readMailboxPage(db, afterId, limit) {
  const page = prepared(
    db,
    `SELECT ${COLUMNS} FROM mailboxes m WHERE m.id > ? ORDER BY m.id LIMIT ? + 0`
  )
  return page.all(afterId, limit).map((row) => /** @type {MailboxRow} */ (toMailboxRow(row)))
}

/**
 * @param {Database} db
 * @param {string} name
 * @returns {MailboxRow | undefined}
 */
export function findMailboxRow(db, name) {
  const statement = prepared(db, `SELECT ${COLUMNS} FROM mailboxes m WHERE m.name = ?`)
  const normal = normalizeMailboxName(name)
  // Without composing it first: there may be one from before all names were composed.
  return toMailboxRow(statement.get(normal) ?? statement.get(composed(normal)))
}

/**
 * @param {Database} db
 * @param {number} id
 * @returns {MailboxRow | undefined}
 */
export function findMailboxRowById(db, id) {
  return toMailboxRow(prepared(db, `SELECT ${COLUMNS} FROM mailboxes m WHERE m.id = ?`).get(id))
}

/**
 * @param {Database} db
 * @param {string} name
 * @returns {MailboxRow}
 * @throws {MailError} MAILBOX_NOT_FOUND
 */
export function requireMailboxRow(db, name) {
  const row = findMailboxRow(db, name)
  if (!row) throw new MailError('MAILBOX_NOT_FOUND')
  return row
}

/**
 * @param {Database} db
 * @param {number} id
 * @returns {MailboxRow}
 * @throws {MailError} MAILBOX_NOT_FOUND
 */
export function requireMailboxRowById(db, id) {
  const row = findMailboxRowById(db, id)
  if (!row) throw new MailError('MAILBOX_NOT_FOUND')
  return row
}

/**
 * @param {number} nowMs
 * @returns {number} the UIDVALIDITY of that moment: seconds since 1970. A clock that stands in the year 2106, as one may that has
 *   lost its battery, would leave no number for what is made afterwards.
 */
export const uidValidityAt = (nowMs) =>
  Math.min(Math.floor(nowMs / 1000), LAST_UID_VALIDITY_BY_TIME)

/**
 * UIDVALIDITY never repeats in an account, whatever the clock does: deleting a mailbox and making one of the same
 * name within a second gives a larger one (RFC 9051 §2.3.1.1).
 *
 * @param {Database} db
 * @param {number} nowMs
 * @returns {number}
 * @throws {MailError} LIMIT where all are used up
 */
export function takeUidValidity(db, nowMs) {
  const taken = /** @type {number} */ (
    prepared(
      db,
      `UPDATE account SET last_uid_validity = max(?, last_uid_validity + 1) RETURNING last_uid_validity`,
      'value'
    ).get(uidValidityAt(nowMs))
  )
  if (taken > MAX_UID_VALIDITY) throw new MailError('LIMIT', { detail: 'UIDVALIDITY used up' })
  return taken
}

/**
 * Ids of mailboxes that were deleted are not given again, so that they may end although there are few mailboxes.
 *
 * @param {Database} db
 * @throws {MailError} LIMIT where all are used up
 */
function requireMailboxId(db) {
  const given = prepared(db, "SELECT seq FROM sqlite_sequence WHERE name = 'mailboxes'", 'value')
  if (Number(given.get() ?? 0) >= MAX_MAILBOX_ID)
    throw new MailError('LIMIT', { detail: 'ids of mailboxes used up' })
}

/**
 * @param {Database} db
 * @param {{ name: string, specialUse: string | null, nowMs: number }} mailbox - `name` as requireMailboxName
 *   gives it, not in use
 * @returns {MailboxRow}
 * @throws {MailError} LIMIT
 */
export function insertMailboxRow(db, { name, specialUse, nowMs }) {
  requireMailboxId(db)
  const uidValidity = takeUidValidity(db, nowMs)
  prepared(
    db,
    `INSERT INTO mailboxes (name, special_use, uid_validity, uid_next, highest_modseq, recent_from_uid,
       expunged_floor, created_at, message_count, unseen_count, deleted_count, total_bytes)
     VALUES (?, ?, ?, 1, 1, 1, 0, ?, 0, 0, 0, 0)`
  ).run(name, specialUse, uidValidity, nowMs)
  return requireMailboxRow(db, name)
}

/**
 * @typedef {object} MailboxChange - what a transaction has done to the rows of one mailbox
 * @property {number} [messages] - more, or fewer if negative; the others likewise
 * @property {number} [unseen]
 * @property {number} [deleted]
 * @property {number} [bytes]
 * @property {number} [uids] - UIDs used
 */

/**
 * The mod-sequence that the changes of this transaction carry; `moveCounters` makes it the mailbox's own.
 *
 * @param {MailboxRow} mailbox - read in this transaction
 * @returns {number}
 */
export const nextModSeq = (mailbox) => mailbox.highestModSeq + 1

/**
 * To be asked before a row is written: one beyond the last UID would be a row of the next mailbox.
 *
 * @param {MailboxRow} mailbox
 * @param {number} count - UIDs that are wanted
 * @throws {MailError} LIMIT when the UIDs of this mailbox are used up
 */
export function requireUids(mailbox, count) {
  if (mailbox.uidNext + count > MAX_UID + 1)
    throw new MailError('LIMIT', { detail: 'UIDs used up' })
}

/**
 * Raises the mailbox's modseq by one and moves its counters along with the rows.
 *
 * @param {Database} db
 * @param {MailboxRow} mailbox - read in this transaction
 * @param {MailboxChange} change
 */
export function moveCounters(db, mailbox, change) {
  const { messages = 0, unseen = 0, deleted = 0, bytes = 0, uids = 0 } = change
  prepared(
    db,
    `UPDATE mailboxes SET highest_modseq = highest_modseq + 1, uid_next = uid_next + ?,
       message_count = message_count + ?, unseen_count = unseen_count + ?,
       deleted_count = deleted_count + ?, total_bytes = total_bytes + ?
     WHERE id = ?`
  ).run(uids, messages, unseen, deleted, bytes, mailbox.id)
}

/**
 * @param {Database} db
 * @returns {{ bytes: number, messages: number }} what the account holds, each copy counted
 */
export function readUsage(db) {
  return /** @type {{ bytes: number, messages: number }} */ (
    prepared(
      db,
      `SELECT coalesce(sum(total_bytes), 0) AS bytes, coalesce(sum(message_count), 0) AS messages
       FROM mailboxes`
    ).get()
  )
}

/**
 * @param {Database} db
 * @param {MailboxRow} mailbox - read in the same transaction or read
 * @returns {number} messages that are \Recent for the next session that selects the mailbox
 */
export function countRecent(db, { id, recentFromUid, uidNext, messageCount }) {
  if (recentFromUid >= uidNext) return 0
  if (recentFromUid === 1) return messageCount
  return /** @type {number} */ (
    prepared(db, 'SELECT count(*) FROM messages WHERE id >= ? AND id < ?', 'value').get(
      messageRowId(id, recentFromUid),
      messageRowId(id + 1, 0)
    )
  )
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {number} toUid - exclusive
 * @returns {{ fromUid: number }} the first UID that is \Recent for the caller and for nobody after it
 * @throws {MailError} MAILBOX_NOT_FOUND
 */
export function claimRecentRows(db, mailboxId, toUid) {
  const { recentFromUid } = requireMailboxRowById(db, mailboxId)
  prepared(db, 'UPDATE mailboxes SET recent_from_uid = max(recent_from_uid, ?) WHERE id = ?').run(
    toUid,
    mailboxId
  )
  return { fromUid: recentFromUid }
}
