/**
 * APPEND: messages become rows of a mailbox, all in one transaction (RFC 3502: all or none).
 */
import { prepared } from '../database/statement.js'
import {
  completeContent,
  findContent,
  insertChunks,
  insertContent,
  leaveContent
} from './content-rows.js'
import { DELETED, SEEN } from './flags.js'
import { withKeywords } from './keyword-rows.js'
import { moveCounters, nextModSeq, requireMailboxRow, requireUids } from './mailbox-rows.js'
import { MAX_KEPT_UID, messageRowId } from './row-ids.js'
import { requireQuota } from './quota.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./staged-content.js').StagedContent} StagedContent
 * @typedef {import('./flags.js').KeywordTable} KeywordTable
 * @typedef {import('./mailbox-view.js').ViewRow} ViewRow
 * @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate
 *
 * @typedef {object} AppendedMessage
 * @property {StagedContent} content
 * @property {readonly string[]} flags
 * @property {ZonedDate | null} internalDate - null: now
 * @property {string} [spoolName] - of the sealed spool file that it came from
 * @property {() => boolean} [isSpoolFileGone] - asked within the transaction: another process has brought it in and has
 *   removed the file, and its name is remembered no longer; throws where it cannot tell
 * @property {Buffer} [importKey] - names it among what was imported
 * @property {string} [sourceFlags] - with importKey: the flags that it has where it comes from, kept for the next run
 * @property {number} [uid] - the UID that it had where it comes from: kept, unless one so high has been given already, or
 *   hardly any would be left above it
 *
 * @typedef {object} AppendResult
 * @property {number} mailboxId
 * @property {number} uidValidity
 * @property {number[]} uids - in order; 0 for a message whose spoolName or importKey is in already
 * @property {number} modSeq
 * @property {ViewRow[]} rows
 * @property {KeywordTable} keywords - with the new ones
 * @property {readonly import('./late-meta.js').FreshContent[]} fresh
 */

/**
 * @param {Database} db
 * @param {object} request
 * @param {string} request.mailboxName
 * @param {readonly AppendedMessage[]} request.messages
 * @param {KeywordTable} request.keywords - of the account
 * @param {import('./quota.js').Quota | null} request.quota - null: exempt
 * @param {number} request.nowMs
 * @returns {AppendResult}
 * @throws {MailError} MAILBOX_NOT_FOUND, OVER_QUOTA, LIMIT, CANNOT
 */
export function appendRows(db, { mailboxName, messages, keywords, quota, nowMs }) {
  const mailbox = requireMailboxRow(db, mailboxName)
  if (quota) {
    const bytes = messages.reduce((sum, { content }) => sum + content.size, 0)
    requireQuota(db, quota, { bytes, messages: messages.length })
  }
  const names = messages.flatMap(({ flags }) => flags)
  // RFC 9051 §6.3.12 has flags that SHOULD be set: better a message without a keyword than no message.
  const table = withKeywords(db, names, keywords, { mayLack: true })
  const modSeq = nextModSeq(mailbox)
  const change = { messages: 0, unseen: 0, deleted: 0, bytes: 0, uids: 0 }
  const uids = []
  const rows = []
  /** @type {import('./late-meta.js').FreshContent[]} */
  const fresh = []
  for (const message of messages) {
    if (isKnown(db, message)) {
      uids.push(0)
      continue
    }
    const nextUid = mailbox.uidNext + change.uids
    const { uid: kept = 0 } = message
    const uid = kept > MAX_KEPT_UID ? nextUid : Math.max(nextUid, kept)
    requireUids(mailbox, uid + 1 - mailbox.uidNext)
    const rowId = messageRowId(mailbox.id, uid)
    const words = table.wordsOf(message.flags)
    const { contentId, isNew } = adoptContent(db, message.content)
    if (isNew) fresh.push({ contentId, content: message.content })
    insertMessage(db, { rowId, modSeq, words, message, contentId, nowMs })
    remember(db, rowId, message, nowMs)
    uids.push(uid)
    rows.push({ uid, modSeq, ...words })
    change.uids = uid + 1 - mailbox.uidNext
    change.messages++
    change.bytes += message.content.size
    if (!(words.flags & SEEN)) change.unseen++
    if (words.flags & DELETED) change.deleted++
  }
  if (rows.length > 0) moveCounters(db, mailbox, change)
  return {
    mailboxId: mailbox.id,
    uidValidity: mailbox.uidValidity,
    uids,
    modSeq,
    rows,
    keywords: table,
    fresh
  }
}

/**
 * @param {Database} db
 * @param {AppendedMessage} message
 * @returns {boolean} whether another run has brought it in already
 */
function isKnown(db, { spoolName, isSpoolFileGone, importKey }) {
  return (
    (spoolName !== undefined && (isDrained(db, spoolName) || isSpoolFileGone?.() === true)) ||
    (importKey !== undefined && hasImportKey(db, importKey))
  )
}

/**
 * @param {Database} db
 * @param {string} spoolName
 * @returns {boolean}
 */
const isDrained = (db, spoolName) =>
  prepared(db, 'SELECT 1 FROM drained WHERE spool_name = ?', 'value').get(spoolName) !== undefined

/**
 * @param {Database} db
 * @param {Buffer} importKey
 * @returns {boolean}
 */
export const hasImportKey = (db, importKey) =>
  prepared(db, 'SELECT 1 FROM import_log WHERE key = ?', 'value').get(importKey) !== undefined

/**
 * @param {Database} db
 * @returns {string[]} spool files that are in and not forgotten
 */
export const listDrainedRows = (db) =>
  /** @type {string[]} */ (
    prepared(db, 'SELECT spool_name FROM drained ORDER BY spool_name', 'value').all()
  )

/**
 * @param {Database} db
 * @param {readonly string[]} spoolNames
 */
export function forgetDrainedRows(db, spoolNames) {
  const forget = prepared(db, 'DELETE FROM drained WHERE spool_name = ?')
  for (const spoolName of spoolNames) forget.run(spoolName)
}

/**
 * @param {Database} db
 * @param {number} rowId - messages.id
 * @param {AppendedMessage} message
 * @param {number} nowMs
 */
function remember(db, rowId, { spoolName, importKey, sourceFlags }, nowMs) {
  if (spoolName !== undefined)
    prepared(db, 'INSERT INTO drained (spool_name, drained_at) VALUES (?, ?)').run(spoolName, nowMs)
  if (importKey !== undefined)
    prepared(
      db,
      'INSERT INTO import_log (key, message_id, imported_at, source_flags) VALUES (?, ?, ?, ?)'
    ).run(importKey, rowId, nowMs, sourceFlags ?? null)
}

/**
 * @param {Database} db
 * @param {object} row
 * @param {number} row.rowId - messages.id
 * @param {number} row.modSeq
 * @param {import('./flags.js').FlagWords} row.words
 * @param {AppendedMessage} row.message
 * @param {number} row.contentId
 * @param {number} row.nowMs
 */
function insertMessage(db, { rowId, modSeq, words, message, contentId, nowMs }) {
  const { content, internalDate } = message
  prepared(
    db,
    `INSERT INTO messages (id, modseq, flags, keywords, internal_date, internal_zone, saved_at, size, content_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
  ).run(
    rowId,
    modSeq,
    words.flags,
    words.keywords,
    internalDate?.epochSeconds ?? Math.floor(nowMs / 1000),
    internalDate?.zoneMinutes ?? 0,
    nowMs,
    content.size,
    contentId
  )
}

/**
 * Gives a staged content its place among the complete ones, or the place of an equal one that is there.
 *
 * @param {Database} db
 * @param {StagedContent} content
 * @returns {{ contentId: number, isNew: boolean }}
 */
function adoptContent(db, { hash, size, contentId, chunks, chunkCount, chunkBytes }) {
  const equal = findContent(db, hash, size)
  if (equal !== null) {
    if (contentId !== null && contentId !== equal) leaveContent(db, contentId)
    return { contentId: equal, isNew: false }
  }
  let id = contentId
  if (id === null) id = insertContent(db, { hash, size, chunkBytes, stagedAtMs: null })
  else completeContent(db, { contentId: id, hash, size })
  insertChunks(db, id, chunkCount, chunks)
  return { contentId: id, isNew: true }
}
