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
 * Whatever root makes there, a log beside a mailbox or a spool for instance, is closed to the server that runs as somebody
 * else, and the mailbox with it.
 *
 * @param {string} data - absolute
 * @returns {boolean} whether this was root and now is somebody else
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
  // The credentials of an object storage, for instance, are the server's.
  if (homedir !== undefined) setHome(homedir)
  return true
}

/**
 * @param {number} uid
 * @param {number} gid
 */
function setGroups(uid, gid) {
  // The types of Node do not know it.
  const { initgroups } =
    /** @type {{ initgroups?: (user: number, extraGroup: number) => void }} */ (process)
  try {
    initgroups?.(uid, gid)
  } catch (error) {
    // A container has users that no list of its names.
    if (errorCodeOf(error) !== 'ERR_UNKNOWN_CREDENTIAL') throw error
    process.setgroups?.([gid])
  }
}

/** @returns {{ username: string, homedir: string } | null} whoever runs this; null where no list names them */
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
 * @throws {Error} EACCES, where nobody can tell
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
  // Whoever opens the folder says what to do about a restore that was not finished.
  if (isNew && !mayBeNew && !isThere(join(data, UNFINISHED_RESTORE))) {
    requireNoMailboxes(data)
    throw new CliError(
      `There is no Letterlock data in ${data}: say where it is with --data, or LETTERLOCK_DATA`,
      { exitCode }
    )
  }
  return { isNew, hasBecomeOwner }
}
