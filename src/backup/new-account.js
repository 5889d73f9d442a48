/**
 * Puts a mailbox of a backup into place for an account that is not in the directory yet: its first unlock lifts UIDs and
 * MODSEQs, as after every restore.
 */
import { rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { removeRefusedFolder } from '../accounts/mailbox-folder.js'
import { UNFINISHED } from '../accounts/stranded-mailboxes.js'
import { requireEnough } from '../support/room.js'
import { makeFolderDurably, syncFolder } from '../support/write-file.js'
import { removeStagedNew } from './left-restores.js'
import { materialize } from './materialize.js'
import { readSnapshot } from './snapshot-store.js'

/** @typedef {import('../accounts/directory-port.js').Account} Account */

/**
 * @param {object} input
 * @param {Pick<import('../accounts/services.js').AccountServices, 'directory'>} input.services
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {import('./repository.js').Generation} input.generation
 * @param {import('./repository.js').AccountEntry} input.entry - the mailbox's, of that generation
 * @param {Omit<import('../accounts/directory-port.js').NewAccount, 'cipher' | 'restoredFrom'>} input.account - its folder is made here
 * @param {import('../accounts/audit-actions.js').AuditAction} input.action - for the audit log
 * @param {(bytes: number) => void} [input.onRead]
 * @returns {Promise<Account>}
 * @throws {MailError} ACCOUNT_EXISTS, BACKUP_MISSING, BACKUP_DAMAGED, DISK_FULL …; then nothing of it stays
 */
export async function restoreAsNewAccount({
  services,
  target,
  generation,
  entry,
  account,
  action,
  onRead
}) {
  const { directory } = services
  const { id: accountId, folder } = account
  const domainFolder = dirname(folder)
  const staged = join(domainFolder, `${accountId}${UNFINISHED}`)
  try {
    // A restore of another backup may have been killed here: its log, or its waiting mail, would become part of this one. What
    // a killed restore of another account has left only takes room; no restore is under way, because a host runs one at a time.
    await makeFolderDurably(domainFolder)
    await removeStagedNew(domainFolder)
    await requireEnough(domainFolder, entry.bytes)
    const snapshot = await readSnapshot(target, entry.snapshot)
    await materialize({ target, snapshot, folder: staged, ...(onRead && { onRead }) })
    await directory.planFolder(folder)
    await rename(staged, folder)
    await syncFolder(domainFolder)
    // null: the cipher is not known, and each is tried; a guess would be taken at its word.
    const cipher = /** @type {import('../database/setup-pragma.js').Cipher | null} */ (
      snapshot.cipher
    )
    const made = await directory.createAccount({
      ...account,
      cipher,
      restoredFrom: generation.name
    })
    directory.audit({ action, accountId, detail: { generation: generation.name } })
    return made
  } catch (error) {
    if ((await directory.findAccount(accountId))?.folder !== folder) {
      await rm(staged, { recursive: true, force: true })
      await removeRefusedFolder(folder, error)
    }
    throw error
  }
}
