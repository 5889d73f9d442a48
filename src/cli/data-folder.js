/**
 * What every command does before it opens anything in the data folder: it becomes the user whose folder that is, and makes
 * no new one where somebody has mistyped a name.
 */
import { statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { setHome } from '../../config/load.js'
import { UNFINISHED_RESTORE } from '../accounts/services.js'
import { requireNoMailboxes } from '../accounts/stranded-mailboxes.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { CliError } from './cli-error.js'

const ROOT = 0

/**
 * Turns a process of root's into one of the user whose folder it is: the server, which runs as that user, could not open what
 * root makes there (a log beside a mailbox, a spool), nor the mailbox any more.
 *
 * @param {string} data - absolute
 * @returns {boolean} whether this process was root's, and is the owner's now
 * @throws {CliError} where root has not the right to become its owner
 */
export function becomeOwner(data) {
  if (process.getuid?.() !== ROOT) return false
  const folder = statSync(data, { throwIfNoEntry: false })
  if (!folder || folder.uid === ROOT) return false
  const { uid, gid } = folder
  try {
    setGroups(uid, gid)
    process.setgid?.(gid)
    process.setuid?.(uid)
  } catch (cause) {
    throw new CliError(
      `${data} belongs to user ${uid}, whom this process may not become (${errorCodeOf(cause)}): run the command as that user`,
      { cause }
    )
  }
  const { homedir } = userOf() ?? {}
  // Under that home lie the server's credentials of an object storage, for instance.
  if (homedir !== undefined) setHome(homedir)
  return true
}

/**
 * @param {number} uid
 * @param {number} gid
 */
function setGroups(uid, gid) {
  // Node's types lack `initgroups`.
  const { initgroups } =
    /** @type {{ initgroups?: (user: number, extraGroup: number) => void }} */ (process)
  try {
    initgroups?.(uid, gid)
  } catch (error) {
    // In a container a user may have no name.
    if (errorCodeOf(error) !== 'ERR_UNKNOWN_CREDENTIAL') throw error
    process.setgroups?.([gid])
  }
}

/** @returns {{ username: string, homedir: string } | null} the user of this process; null where it has no name */
function userOf() {
  try {
    return userInfo()
  } catch {
    return null
  }
}

/**
 * @param {string} path
 * @returns {boolean}
 * @throws {Error} EACCES, for instance, where that cannot be found out
 */
const isThere = (path) => statSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * @param {string} data - absolute
 * @param {{ mayBeNew?: boolean, exitCode?: number }} [options] - `mayBeNew`: the command makes a data folder where there is
 *   none
 * @returns {{ isNew: boolean, hasBecomeOwner: boolean }}
 * @throws {CliError | import('../errors.js').MailError} DIRECTORY_MISSING where there are mailboxes without their directory
 */
export function enterDataFolder(data, { mayBeNew = false, exitCode = 1 } = {}) {
  const hasBecomeOwner = becomeOwner(data)
  const isNew = !isThere(join(data, 'directory.db'))
  // A restore that was not finished passes: whoever opens the folder says what to do about it.
  if (isNew && !mayBeNew && !isThere(join(data, UNFINISHED_RESTORE))) {
    requireNoMailboxes(data)
    throw new CliError(
      `There is no Letterlock data in ${data}: say where it is with --data, or LETTERLOCK_DATA`,
      { exitCode }
    )
  }
  return { isNew, hasBecomeOwner }
}
