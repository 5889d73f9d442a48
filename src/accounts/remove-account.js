/**
 * Deleting is erasing the keys: from then on the files are noise, here and in every copy of the folder.
 * Only then do the files go, and if something keeps them, a row remembers that they must.
 */
import { isMailError } from '../errors.js'
import { removeMailboxFolder } from './mailbox-file.js'

/**
 * @typedef {import('./services.js').AccountServices} AccountServices
 * @typedef {import('./directory-port.js').Account} Account
 */

/** How long the files wait for sessions of the erased account to notice and go, ms. */
const LOCK_TIMEOUT_MS = 5_000

/**
 * @param {object} input
 * @param {Pick<AccountServices, 'directory' | 'logger' | 'unlocker'>} input.services
 * @param {Account} input.account
 * @returns {Promise<{ isRemoved: boolean }>} false while somebody still has the mailbox open, or something else keeps
 *   its files: they go at the next start or the next deletion
 * @throws {import('../errors.js').MailError} ACCOUNT_NOT_FOUND
 */
export async function deleteAccount({ services, account }) {
  const { directory, unlocker } = services
  await directory.deleteAccount(account.id)
  unlocker.forget(account.id)
  directory.audit({ action: 'account-delete', accountId: account.id, tenant: account.tenant })
  const { left } = await removePendingFolders({ services })
  return { isRemoved: !left.includes(account.folder) }
}

/**
 * Removes what earlier deletions had to leave.
 *
 * @param {object} input
 * @param {Pick<AccountServices, 'directory' | 'logger'>} input.services
 * @param {number} [input.timeoutMs] - how long to wait for each mailbox that is still open
 * @returns {Promise<{ left: string[] }>} absolute folders that are still in use, or could not be removed
 */
export async function removePendingFolders({ services, timeoutMs = LOCK_TIMEOUT_MS }) {
  const { directory, logger } = services
  /** @type {string[]} */
  const left = []
  for (const folder of await directory.listRemovals()) {
    try {
      await removeMailboxFolder(folder, { timeoutMs })
      await directory.finishRemoval(folder)
    } catch (err) {
      // The keys are gone, which is what counts: neither what asked for it nor the other folders must fail for that.
      if (isMailError(err, 'BUSY'))
        logger.warn('the files of an erased mailbox are still open; they are removed later')
      else logger.error({ err }, 'the files of an erased mailbox cannot be removed')
      left.push(folder)
    }
  }
  return { left }
}
