/**
 * The directory of a generation, opened with the recovery key, and the keys of its accounts.
 */
import { openDirectory } from '../accounts/directory.js'
import { removeDatabase } from '../database/database-files.js'
import { MailError } from '../errors.js'
import { writeFileDurably } from '../support/write-file.js'
import { parseKeys, prepareRestoredDirectory } from '../accounts/directory-snapshot.js'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/directory-snapshot.js').AccountKeys} AccountKeys
 * @typedef {import('./sealed.js').RecoveryKey} RecoveryKey
 * @typedef {import('./targets/target.js').BackupTarget} BackupTarget
 *
 * @typedef {object} FoundAccount
 * @property {Account} account
 * @property {string[]} aliases
 * @property {string | null} ownTenant - the tenant that it was given to; null where its tenant is its domain's
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
 * @param {string} input.address - canonical: the primary one or an alias
 * @param {string} input.dataFolder
 * @param {import('../support/clock.js').Clock} input.clock
 * @param {import('../telemetry/logger.js').Logger} input.logger
 * @returns {Promise<FoundAccount | null>}
 * @throws {MailError} BACKUP_DAMAGED, RECOVERY_KEY_REJECTED
 */
export async function findInSealedDirectory({
  target,
  generation,
  recoveryKey,
  scratchFile,
  address,
  dataFolder,
  clock,
  logger
}) {
  await writeFileDurably(
    scratchFile,
    await openSealedObject(target, generation.directory, recoveryKey)
  )
  try {
    prepareRestoredDirectory(scratchFile)
    // `openDirectory` also brings it to the schema of today.
    const directory = openDirectory({ path: scratchFile, dataFolder, clock, logger })
    try {
      const account = await directory.findByAddress(address)
      if (!account) return null
      const aliases = await directory.listAliases(account.id)
      // `findByAddress` found anna@… for anna+2024@…, which was an account of its own, and is to be looked for in older backups.
      if (![account.address, ...aliases].includes(address)) return null
      const isOfDomain = (await directory.findTenantOfDomain(account.domain)) === account.tenant
      return {
        account,
        aliases,
        ownTenant: isOfDomain ? null : account.tenant
      }
    } finally {
      await directory.close()
    }
  } finally {
    await removeDatabase(scratchFile)
  }
}
