/**
 * What restores have left that were killed, or ended with Ctrl-C: a mailbox each, in whole or in part, that nobody asks for.
 */
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { UNFINISHED } from '../accounts/stranded-mailboxes.js'
import { readFolder } from '../delivery/spool-files.js'

/** Prefix of the name of a folder, within the account's, in which a restore is staged. */
export const STAGED = 'restore-'

/**
 * @param {string} folder - the account's; no restore of it is under way
 * @param {string | undefined} kept - name of the staged folder that a restore still asks for
 */
export async function removeStaged(folder, kept) {
  await removeAll(folder, (name) => name.startsWith(STAGED) && name !== kept)
}

/**
 * @param {string} domainFolder - no restore is under way
 */
export async function removeStagedNew(domainFolder) {
  await removeAll(domainFolder, (name) => name.endsWith(UNFINISHED))
}

/**
 * To be called by whoever holds the host's lock of backups, which a restore holds as well.
 *
 * @param {object} input
 * @param {import('../accounts/directory-port.js').DirectoryPort} input.directory
 * @param {import('../telemetry/logger.js').Logger} input.logger
 */
export async function removeLeftRestores({ directory, logger }) {
  /** @type {Set<string>} */
  const domainFolders = new Set()
  const attempt = async (/** @type {() => Promise<void>} */ work) => {
    try {
      await work()
    } catch (err) {
      // What is left takes room, and does no other harm: the backup goes on.
      logger.warn({ err }, 'what restores have left could not be removed')
    }
  }
  for (const { id, folder } of await directory.listAccounts()) {
    domainFolders.add(dirname(folder))
    await attempt(async () => removeStaged(folder, (await directory.findRestore(id))?.staged))
  }
  for (const folder of domainFolders) await attempt(() => removeStagedNew(folder))
}

/**
 * @param {string} folder
 * @param {(name: string) => boolean} isLeft
 */
async function removeAll(folder, isLeft) {
  for (const name of await readFolder(folder))
    if (isLeft(name)) await rm(join(folder, name), { recursive: true, force: true })
}
