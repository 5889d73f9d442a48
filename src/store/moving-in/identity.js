/**
 * Whether a mailbox may pass for the folder that it was copied from: the same UIDVALIDITY, so that clients keep what
 * they have. It may exactly if no UID means another message here than there. Everything here runs inside a transaction
 * of the caller.
 *
 * While the first run lasts, the mailbox has a UIDVALIDITY of its own; only at its end, when every message has the UID
 * that it has at the source, the mailbox takes over the source's. From then on UIDs may be given here or there, but not
 * in both places: a run that finds this gives the mailbox a new UIDVALIDITY.
 */
import { prepared } from '../../database/statement.js'
import { findMailboxRowById, LAST_UID_VALIDITY_BY_TIME, takeUidValidity } from '../mailbox-rows.js'
import { MAX_KEPT_UID } from '../row-ids.js'
import { highestKnownUid } from './import-folder-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./import-folder-rows.js').ImportFolder} ImportFolder
 *
 * @typedef {object} FinishedRun
 * @property {ImportFolder} folder - as read in this transaction
 * @property {number} sourceUidNext - at the beginning of the run
 * @property {number | null} sourceModSeq - HIGHESTMODSEQ at the beginning of the run; null: it has none
 * @property {boolean} isSame - whether every message has the UID that it has at the source; with `hasIdentity`, every one that
 *   has come since the last run
 * @property {number} nowMs
 */

/**
 * Notes the end of a run and settles the mailbox's UIDVALIDITY.
 *
 * @param {Database} db
 * @param {FinishedRun} run
 * @returns {{ hasIdentity: boolean, changedMailboxId: number | null }} `changedMailboxId`: views of it must be read anew
 */
export function finishRun(db, { folder, sourceUidNext, sourceModSeq, isSame, nowMs }) {
  const mailbox = findMailboxRowById(db, folder.mailboxId)
  const nextUid = Math.max(folder.ownUidNext, highestKnownUid(db, folder.id) + 1)
  const allUidNext = Math.max(nextUid, sourceUidNext)
  // Taken over, it would leave hardly any UIDs for mail that comes.
  const isTooHigh = allUidNext > MAX_KEPT_UID + 1
  const ownUidNext = isTooHigh ? folder.ownUidNext : allUidNext
  let { keepsUids, hasIdentity } = folder
  let changed = false
  if (!mailbox) keepsUids = hasIdentity = false
  else if (keepsUids && !hasIdentity && isSame && !isTooHigh) {
    hasIdentity = takeIdentity(db, { folder, uidNext: ownUidNext, nowMs })
    changed = hasIdentity
  } else if (hasIdentity && sourceUidNext > folder.sourceUidNext) {
    // Both mailboxes have given UIDs since: one UID may stand for two messages.
    if (!isSame || isTooHigh || mailbox.uidNext > nextUid) {
      keepsUids = hasIdentity = false
      setUidValidity(db, { id: mailbox.id, uidValidity: takeUidValidity(db, nowMs), uidNext: 1 })
    } else setUidValidity(db, { ...mailbox, uidNext: ownUidNext })
    changed = true
  } else if (!isSame && !hasIdentity) keepsUids = false
  prepared(
    db,
    `UPDATE imap_folders SET keeps_uids = ?, has_identity = ?, source_uid_next = ?, own_uid_next = ?, source_modseq = ?,
       finished_at = ? WHERE id = ?`
  ).run(
    keepsUids ? 1 : 0,
    hasIdentity ? 1 : 0,
    sourceUidNext,
    ownUidNext,
    sourceModSeq ?? 0,
    nowMs,
    folder.id
  )
  return { hasIdentity, changedMailboxId: changed ? folder.mailboxId : null }
}

/**
 * @param {Database} db
 * @param {{ folder: ImportFolder, uidNext: number, nowMs: number }} request
 * @returns {boolean} false when a mailbox of this account has or had that UIDVALIDITY
 */
function takeIdentity(db, { folder: { mailboxId, uidValidity }, uidNext, nowMs }) {
  // A higher UIDVALIDITY would leave none for mailboxes that are made afterwards.
  if (uidValidity < 1 || uidValidity > LAST_UID_VALIDITY_BY_TIME) return false
  const holder = /** @type {number | undefined} */ (
    prepared(db, 'SELECT id FROM mailboxes WHERE uid_validity = ? AND uid_next = 1', 'value').get(
      uidValidity
    )
  )
  // A mailbox that never gave a UID can as well have another UIDVALIDITY.
  if (holder !== undefined && holder !== mailboxId)
    setUidValidity(db, { id: holder, uidValidity: takeUidValidity(db, nowMs), uidNext: 1 })
  const isTaken = prepared(
    db,
    `SELECT EXISTS (SELECT 1 FROM mailboxes WHERE uid_validity = @uidValidity)
       OR EXISTS (SELECT 1 FROM past_uid_validities WHERE uid_validity = @uidValidity)`,
    'value'
  ).get({ uidValidity })
  if (isTaken === 1) return false
  prepared(db, 'UPDATE account SET last_uid_validity = max(last_uid_validity, ?)').run(uidValidity)
  setUidValidity(db, { id: mailboxId, uidValidity, uidNext })
  return true
}

/**
 * The mod-sequence grows so that every process reads the row anew.
 *
 * @param {Database} db
 * @param {{ id: number, uidValidity: number, uidNext: number }} mailbox - `uidNext` where it is higher than now
 */
function setUidValidity(db, { id, uidValidity, uidNext }) {
  prepared(
    db,
    `UPDATE mailboxes SET uid_validity = ?, uid_next = max(uid_next, ?), highest_modseq = highest_modseq + 1
     WHERE id = ?`
  ).run(uidValidity, uidNext, id)
}
