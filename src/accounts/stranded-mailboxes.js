/**
 * Mailboxes and a directory that do not belong together. A data folder whose directory is gone looks new to a server, and is not:
 * a server that began anew there would refuse all mail for its accounts. A server that got an older directory back refuses mail
 * for the accounts that are newer.
 */
import { readdirSync, statSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { mailFile } from '../database/database-files.js'
import { MailError } from '../errors.js'
import { isThere, isThereSync } from '../support/is-there.js'

/** The name of a folder that is being filled, and is not a mailbox yet, ends with this. */
export const UNFINISHED = '.part'

/**
 * @typedef {(error: unknown) => void} OnUnknown - is told of what cannot be looked at, which then counts as no folder
 */

/** @type {OnUnknown} */
const refuseUnknown = (error) => {
  throw error
}

/**
 * @param {string} folder
 * @param {OnUnknown} onUnknown
 * @returns {string[]} absolute paths of the folders in it; for one that lies on another disk, that of the link to it
 */
function within(folder, onUnknown) {
  if (!isThereSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true })
    .map((entry) => ({ entry, path: join(folder, entry.name) }))
    .filter(({ entry, path }) => {
      try {
        return entry.isDirectory() || (entry.isSymbolicLink() && isFolder(path))
      } catch (error) {
        onUnknown(error)
        return false
      }
    })
    .map(({ path }) => path)
}

/** @param {string} link */
const isFolder = (link) => statSync(link, { throwIfNoEntry: false })?.isDirectory() === true

/**
 * @param {string} data - absolute
 * @param {OnUnknown} [onUnknown]
 * @returns {string[]} folders that may be mailboxes
 */
const mailboxFolders = (data, onUnknown = refuseUnknown) =>
  within(join(data, 'mail'), onUnknown).flatMap((domain) => within(domain, onUnknown))

/**
 * A crash of the machine or a copy onto a full disk may leave a file without its bytes.
 *
 * @param {string} data - absolute
 * @returns {Promise<boolean>} whether there is no directory.db, or an empty one
 */
export async function lacksDirectory(data) {
  const path = join(data, 'directory.db')
  return !(await isThere(path)) || (await stat(path)).size === 0
}

/**
 * To be called before the directory is opened: opening makes a directory where there is none, without any account.
 *
 * @param {string} data - absolute
 * @throws {MailError} DIRECTORY_MISSING
 */
export async function requireDirectoryOfMailboxes(data) {
  if (await lacksDirectory(data)) requireNoMailboxes(data)
}

/**
 * @param {string} data - absolute; has no directory.db, or an empty one
 * @throws {MailError} DIRECTORY_MISSING where there are mailboxes all the same
 */
export function requireNoMailboxes(data) {
  const hasMailbox = mailboxFolders(data).some((folder) => isThereSync(mailFile(folder)))
  if (!hasMailbox) return
  throw new MailError('DIRECTORY_MISSING', {
    detail:
      `${data} has mailboxes in mail/, and no directory.db or an empty one. Put that back. Where it is lost, keep mail/, ` +
      'which is newer than any backup: letterlock backup restore --host into another, empty folder, and copy directory.db ' +
      'from there (docs/backup.md, “The directory alone”)'
  })
}

/**
 * @param {object} input
 * @param {string} input.data - absolute
 * @param {Pick<import('./directory-port.js').NodeDirectory, 'listFolders'>} input.directory
 * @returns {Promise<{ stranded: string[], missing: string[], unknown: unknown[] }>} folders with a mailbox that is no
 *   account's; folders of accounts without one; the system's errors where neither can be told
 */
export async function findStranded({ data, directory }) {
  /** @type {Map<string, unknown>} */
  const unknown = new Map()
  const onUnknown = (/** @type {unknown} */ error) => {
    // An error that is met twice is told once.
    unknown.set(/** @type {Error} */ (error).message, error)
  }
  // First the folders, then the accounts: an account that is made meanwhile must not look stranded.
  const there = mailboxFolders(data, onUnknown).filter((folder) => !folder.endsWith(UNFINISHED))
  const { ofAccounts, passing } = await directory.listFolders()
  const known = new Set([...ofAccounts, ...passing])
  const stranded = []
  for (const folder of there) {
    if (known.has(folder)) continue
    if (await isThere(mailFile(folder)).catch(onUnknown)) stranded.push(folder)
  }
  const missing = []
  for (const folder of ofAccounts) {
    const isMissing = await isThere(mailFile(folder)).then((is) => !is, onUnknown)
    if (isMissing) missing.push(folder)
  }
  return { stranded, missing, unknown: [...unknown.values()] }
}
