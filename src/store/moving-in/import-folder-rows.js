/**
 * Rows of `imap_folders` and their keys in `import_log`. Everything here runs inside a transaction or read of the caller.
 */
import { prepared } from '../../database/statement.js'
import { requireMailboxRow, takeUidValidity } from '../mailbox-rows.js'
import { messageRowId } from '../row-ids.js'
import { imapImportKey, KEY_OF_SAME_UID, keyPrefixHex, uidOfImportKey } from './import-key.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} ImportFolder
 * @property {number} id
 * @property {number} mailboxId
 * @property {number} uidValidity - of the source
 * @property {boolean} keepsUids - messages shall have the UIDs of the source
 * @property {boolean} hasIdentity - the mailbox has the UIDVALIDITY of the source
 * @property {number} modSeqLimit
 * @property {number} sourceUidNext - 0: no run has come to the end yet
 * @property {number} ownUidNext
 * @property {number} sourceModSeq - 0: none
 * @property {boolean} isFinished - whether a run has come to the end
 *
 * @typedef {object} SourceFolder
 * @property {string} source
 * @property {string} path
 * @property {number} uidValidity
 * @property {number | null} modSeq - HIGHESTMODSEQ; null: its mod-sequences are too large to be kept apart from ours
 *
 * @typedef {object} KnownMessage
 * @property {number} uid - at the source
 * @property {number} rowId - messages.id that it became
 * @property {string | null} flags - at the source, when last looked at
 */

/** Mod-sequences between the source's and ours: no source changes so often while it is being copied. */
const MODSEQ_LEAD = 2 ** 32

/** A mod-sequence beyond this leaves no room above it (RFC 7162 has 63 bits, our numbers 53). */
const MAX_SOURCE_MODSEQ = 2 ** 52

const COLUMNS = `id, mailbox_id AS mailboxId, uid_validity AS uidValidity, keeps_uids AS keepsUids, has_identity AS hasIdentity,
  modseq_limit AS modSeqLimit, source_uid_next AS sourceUidNext, own_uid_next AS ownUidNext,
  source_modseq AS sourceModSeq, finished_at IS NOT NULL AS isFinished`

/**
 * @param {unknown} row
 * @returns {ImportFolder | null}
 */
function toImportFolder(row) {
  if (row === undefined) return null
  const folder = /** @type {Record<keyof ImportFolder, number>} */ (row)
  return {
    ...folder,
    keepsUids: folder.keepsUids === 1,
    hasIdentity: folder.hasIdentity === 1,
    isFinished: folder.isFinished === 1
  }
}

/**
 * @param {Database} db
 * @param {Pick<SourceFolder, 'source' | 'path' | 'uidValidity'>} folder
 * @returns {ImportFolder | null}
 */
export function findImportFolder(db, { source, path, uidValidity }) {
  return toImportFolder(
    prepared(
      db,
      `SELECT ${COLUMNS} FROM imap_folders WHERE source = ? AND path = ? AND uid_validity = ?`
    ).get(source, path, uidValidity)
  )
}

/**
 * @param {Database} db
 * @param {number} id
 * @returns {ImportFolder}
 */
export function requireImportFolder(db, id) {
  return /** @type {ImportFolder} */ (
    toImportFolder(prepared(db, `SELECT ${COLUMNS} FROM imap_folders WHERE id = ?`).get(id))
  )
}

/**
 * @param {Database} db
 * @param {Pick<SourceFolder, 'source' | 'path'>} folder
 * @param {number} mailboxId
 * @returns {boolean} whether messages of the folder have come in under another UIDVALIDITY
 */
export function wasRenumbered(db, { source, path }, mailboxId) {
  const count = prepared(
    db,
    'SELECT count(*) FROM imap_folders WHERE source = ? AND path = ? AND mailbox_id = ?',
    'value'
  ).get(source, path, mailboxId)
  return Number(count) > 1
}

/**
 * @param {Database} db
 * @param {SourceFolder} folder
 * @param {string} mailboxName - of a mailbox that is there
 * @param {number} nowMs
 * @returns {ImportFolder}
 */
export function insertImportFolder(db, folder, mailboxName, nowMs) {
  const { source, path, uidValidity, modSeq } = folder
  const mailbox = requireMailboxRow(db, mailboxName)
  const isUnused = mailbox.messageCount === 0 && mailbox.uidNext === 1
  const keepsUids = isUnused && modSeq !== null && modSeq < MAX_SOURCE_MODSEQ
  const modSeqLimit = keepsUids ? Math.max(mailbox.highestModSeq, modSeq + MODSEQ_LEAD) : 0
  if (keepsUids) {
    // RFC 7162: a client that comes with a mod-sequence of the source must be told of everything here. And while messages
    // come in, the mailbox has a UIDVALIDITY of now, which no folder of the source can have.
    prepared(
      db,
      `UPDATE mailboxes SET highest_modseq = @limit, expunged_floor = @limit, uid_validity = @uidValidity
       WHERE id = @id`
    ).run({ limit: modSeqLimit, uidValidity: takeUidValidity(db, nowMs), id: mailbox.id })
  }
  const { lastInsertRowid } = prepared(
    db,
    `INSERT INTO imap_folders (source, path, uid_validity, mailbox_id, keeps_uids, has_identity, modseq_limit,
       source_uid_next, own_uid_next, source_modseq) VALUES (?, ?, ?, ?, ?, 0, ?, 0, 0, 0)`
  ).run(source, path, uidValidity, mailbox.id, keepsUids ? 1 : 0, modSeqLimit)
  return requireImportFolder(db, Number(lastInsertRowid))
}

/**
 * For a folder whose mailbox was deleted here: new messages go to another one, and what was copied does not come back.
 *
 * @param {Database} db
 * @param {number} folderId
 * @param {string} mailboxName - of a mailbox that is there
 * @returns {ImportFolder}
 */
export function moveImportFolder(db, folderId, mailboxName) {
  const { id } = requireMailboxRow(db, mailboxName)
  prepared(
    db,
    'UPDATE imap_folders SET mailbox_id = ?, keeps_uids = 0, has_identity = 0 WHERE id = ?'
  ).run(id, folderId)
  return requireImportFolder(db, folderId)
}

/**
 * @param {Database} db
 * @param {number} folderId
 * @param {number} afterUid
 * @param {number} limit
 * @returns {KnownMessage[]} what has come in, by UID
 */
export function readKnownPage(db, folderId, afterUid, limit) {
  const rows = /** @type {[Buffer, number, string | null][]} */ (
    prepared(
      db,
      `SELECT key, message_id, source_flags FROM import_log WHERE key > ? AND key < ? AND length(key) = 12
       ORDER BY key LIMIT ? + 0`,
      'array'
    ).all(imapImportKey(folderId, afterUid), imapImportKey(folderId + 1, 0), limit)
  )
  return rows.map(([key, rowId, flags]) => ({ uid: uidOfImportKey(key), rowId, flags }))
}

/**
 * @param {Database} db
 * @param {number} folderId
 * @param {readonly { uid: number, flags: string }[]} changes
 */
export function noteSourceFlagRows(db, folderId, changes) {
  const update = prepared(db, 'UPDATE import_log SET source_flags = ? WHERE key = ?')
  for (const { uid, flags } of changes) update.run(flags, imapImportKey(folderId, uid))
}

/**
 * @param {Database} db
 * @param {number} folderId
 * @param {readonly number[]} uids - gone at the source
 */
export function forgetKnownRows(db, folderId, uids) {
  const remove = prepared(db, 'DELETE FROM import_log WHERE key = ?')
  for (const uid of uids) remove.run(imapImportKey(folderId, uid))
}

/**
 * @param {Database} db
 * @param {object} link
 * @param {number} link.folderId
 * @param {number} link.uid - at the source
 * @param {number} link.rowId - messages.id that is the same message
 * @param {string} link.flags - at the source
 * @param {number} link.nowMs
 */
export function linkKnownRow(db, { folderId, uid, rowId, flags, nowMs }) {
  prepared(
    db,
    `INSERT OR REPLACE INTO import_log (key, message_id, imported_at, source_flags) VALUES (?, ?, ?, ?)`
  ).run(imapImportKey(folderId, uid), rowId, nowMs, flags)
}

/**
 * @param {Database} db
 * @param {number} folderId
 * @returns {number} highest UID that has come in, 0 if none has
 */
export function highestKnownUid(db, folderId) {
  const key = /** @type {Buffer | undefined} */ (
    prepared(
      db,
      'SELECT key FROM import_log WHERE key >= ? AND key < ? AND length(key) = 12 ORDER BY key DESC LIMIT 1',
      'value'
    ).get(imapImportKey(folderId, 0), imapImportKey(folderId + 1, 0))
  )
  return key === undefined ? 0 : uidOfImportKey(key)
}

/**
 * @param {Database} db
 * @param {ImportFolder} folder
 * @param {number} afterUid
 * @param {number} limit - messages that are looked at
 * @returns {{ hasStranger: boolean, lastUid: number | null }} whether a message has a UID that is not its own at the
 *   source; `lastUid`: the last one that was looked at, null when there are no more
 */
export function findStrangerPage(db, { id, mailboxId }, afterUid, limit) {
  const { count, strangers, last } =
    /** @type {{ count: number, strangers: number | null, last: number | null }} */ (
      prepared(
        db,
        `SELECT count(*) AS count, max(m.id & 4294967295) AS last,
           sum(NOT EXISTS (SELECT 1 FROM import_log l WHERE l.key = ${KEY_OF_SAME_UID} AND l.message_id = m.id)) AS strangers
         FROM (SELECT id FROM messages WHERE id > @after AND id < @end ORDER BY id LIMIT @limit + 0) m`
      ).get({
        prefix: keyPrefixHex(id),
        after: messageRowId(mailboxId, afterUid),
        end: messageRowId(mailboxId + 1, 0),
        limit
      })
    )
  return { hasStranger: (strangers ?? 0) > 0, lastUid: count < limit ? null : last }
}
