/**
 * The directory of a generation, opened with the recovery key, and the keys of its accounts.
 */
import { rm } from 'node:fs/promises'
import { accountFromRow } from '../accounts/directory-rows.js'
import { MailError } from '../errors.js'
import { writeFileDurably } from '../support/write-file.js'
import { openRestoredDirectory, parseKeys } from './directory-snapshot.js'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('./directory-snapshot.js').AccountKeys} AccountKeys
 * @typedef {import('./sealed.js').RecoveryKey} RecoveryKey
 * @typedef {import('./targets/target.js').BackupTarget} BackupTarget
 */

/**
 * @param {BackupTarget} target
 * @param {string} object
 * @param {RecoveryKey} recoveryKey
 * @returns {Promise<Buffer>}
 * @throws {MailError} BACKUP_DAMAGED, RECOVERY_KEY_REJECTED
 */
export async function openSealedObject(target, object, recoveryKey) {
  const sealed = await target.get(object)
  if (!sealed) throw new MailError('BACKUP_DAMAGED', { detail: `${object} is missing` })
  return await recoveryKey.open(sealed)
}

/**
 * @param {BackupTarget} target
 * @param {import('./repository.js').AccountEntry} entry
 * @param {RecoveryKey} recoveryKey
 * @returns {Promise<AccountKeys | null>} null where they were erased with the account
 * @throws {MailError} BACKUP_DAMAGED, RECOVERY_KEY_REJECTED
 */
export async function openKeys(target, entry, recoveryKey) {
  const sealed = await target.get(entry.keys)
  return sealed && parseKeys(await recoveryKey.open(sealed))
}

/**
 * Looks for an account in the directory of a generation.
 *
 * @param {object} input
 * @param {BackupTarget} input.target
 * @param {import('./repository.js').Generation} input.generation
 * @param {RecoveryKey} input.recoveryKey
 * @param {string} input.scratchFile - the opened directory lies there meanwhile
 * @param {string} input.address - canonical; the primary one or an alias
 * @param {string} input.dataFolder
 * @returns {Promise<{ account: Account, aliases: string[] } | null>}
 * @throws {MailError} BACKUP_DAMAGED, RECOVERY_KEY_REJECTED
 */
export async function findInSealedDirectory({
  target,
  generation,
  recoveryKey,
  scratchFile,
  address,
  dataFolder
}) {
  const bytes = await openSealedObject(target, generation.directory, recoveryKey)
  await writeFileDurably(scratchFile, bytes)
  const db = openRestoredDirectory(scratchFile)
  try {
    const row = db
      .prepare(
        `SELECT a.*, d.name AS domain FROM accounts a JOIN domains d ON d.id = a.domain_id
         JOIN addresses n ON n.account_id = a.id WHERE n.address = ?`
      )
      .get(address)
    if (!row) return null
    const account = accountFromRow(row, dataFolder)
    const aliases = /** @type {{ address: string }[]} */ (
      db
        .prepare('SELECT address FROM addresses WHERE account_id = ? AND address <> ?')
        .all(account.id, account.address)
    )
    return { account, aliases: aliases.map((alias) => alias.address) }
  } finally {
    db.close()
    await rm(scratchFile, { force: true })
  }
}
