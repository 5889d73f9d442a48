/**
 * To delete an account is to erase its keys: from then on the files are noise, here and in every copy of the folder.
 * Only then do the files go; as long as something keeps them, a row (`listRemovals`) remembers that they must.
 */
import { isMailError } from '../errors.js'
import { removeMailboxFolder } from './mailbox-folder.js'

/**
 * @typedef {import('./services.js').AccountServices} AccountServices
 * @typedef {import('./directory-port.js').Account} Account
 */

/** The files wait at most so many ms for sessions of the erased account to notice and go. */
const LOCK_TIMEOUT_MS = 5_000

/** Folders that had to be left are tried again once in so many ms, an hour. */
const AGAIN_MS = 60 * 60_000

/** @type {WeakMap<object, Promise<unknown>>} by directory: the removal that is under way; the next one waits for it */
const removing = new WeakMap()

/**
 * @param {object} input
 * @param {Pick<AccountServices, 'directory' | 'logger' | 'unlocker'>} input.services
 * @param {Account} input.account
 * @returns {Promise<{ isRemoved: boolean }>} false while somebody still has the mailbox open, or something else keeps
 *   its files: they go when a server closes it, and within the hour when another program does
 * @throws {import('../errors.js').MailError} ACCOUNT_NOT_FOUND
 */
export async function deleteAccount({ services, account }) {
  const { directory, unlocker } = services
  await directory.deleteAccount(account.id)
  unlocker.forget(account.id)
  const { left } = await removePendingFolders({ services, awaited: account.folder })
  return { isRemoved: !left.includes(account.folder) }
}

/**
 * Removes the folder that was just erased, and those that earlier deletions had to leave.
 *
 * @param {object} input
 * @param {Pick<AccountServices, 'directory' | 'logger'>} input.services
 * @param {string | null} [input.awaited] - the folder that was just erased: that one alone is waited for while it is open
 * @returns {Promise<{ left: string[] }>} absolute folders that are still in use, or could not be removed
 */
export async function removePendingFolders({ services, awaited = null }) {
  const { directory } = services
  // Two removals of one folder at once would get in each other's way.
  const before = removing.get(directory)
  const work = (async () => {
    await before?.catch(() => {})
    return await removeListed({ services, awaited })
  })()
  removing.set(directory, work)
  return await work
}

/**
 * Tries again and again to remove the folders that had to be left: a command that closes an erased mailbox, or a backup that
 * has copied it, tells nobody.
 *
 * @param {object} input
 * @param {Pick<AccountServices, 'directory' | 'logger'>} input.services
 * @param {number} [input.everyMs]
 * @returns {{ stop: () => Promise<void> }} `stop` waits for a removal that is under way
 */
export function keepRemoving({ services, everyMs = AGAIN_MS }) {
  let isStopped = false
  let running = Promise.resolve()
  const remove = async () => {
    try {
      await removePendingFolders({ services })
    } catch (err) {
      services.logger.error({ err }, 'erased mailboxes could not be looked for')
    }
    if (!isStopped) timer.refresh()
  }
  const timer = setTimeout(() => (running = remove()), everyMs).unref()
  return {
    stop: async () => {
      isStopped = true
      clearTimeout(timer)
      await running
    }
  }
}

/**
 * To be called when a mailbox has been closed here: if it was erased meanwhile, nobody else is going to remove its files soon.
 *
 * @param {Pick<AccountServices, 'directory' | 'logger'>} services
 * @param {string} folder
 */
export async function removeIfErased(services, folder) {
  try {
    if ((await services.directory.listRemovals()).includes(folder))
      await removePendingFolders({ services, awaited: folder })
  } catch (err) {
    services.logger.error({ err }, 'it cannot be told whether a closed mailbox was erased')
  }
}

/**
 * @param {{ services: Pick<AccountServices, 'directory' | 'logger'>, awaited: string | null }} input
 * @returns {Promise<{ left: string[] }>}
 */
async function removeListed({ services: { directory, logger }, awaited }) {
  /** @type {string[]} */
  const left = []
  for (const folder of await directory.listRemovals()) {
    try {
      await removeMailboxFolder(folder, {
        timeoutMs: folder === awaited ? LOCK_TIMEOUT_MS : 0,
        // Another process may have removed the folder since, and an account may stand in a new one by now.
        isToGo: async () => (await directory.listRemovals()).includes(folder)
      })
      await directory.finishRemoval(folder)
    } catch (err) {
      // The keys are gone, which is what counts: a folder that stays must fail neither the deletion nor the other removals.
      if (isMailError(err, 'BUSY')) {
        // Whoever erased one of the other folders was told then that it is still in use.
        if (awaited === null || folder === awaited)
          logger.warn('the files of an erased mailbox are still open; they are removed later')
      } else logger.error({ err }, 'the files of an erased mailbox cannot be removed')
      left.push(folder)
    }
  }
  return { left }
}
