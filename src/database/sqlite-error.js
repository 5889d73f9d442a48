/**
 * Maps errors of SQLite and the file system to this program's own codes. The one place that knows SQLITE_… names.
 */
import { accessSync, closeSync, constants, openSync, readdirSync } from 'node:fs'
import { devNull } from 'node:os'
import { basename, join } from 'node:path'
import { ERROR_TABLE, MailError } from '../errors.js'
import { diskTroubleNow } from '../support/disk-trouble.js'

/**
 * @typedef {import('../errors.js').ErrorCode} ErrorCode
 */

/** Names by prefix, because SQLite reports extended codes such as SQLITE_BUSY_SNAPSHOT. */
const CODE_BY_PREFIX = /** @type {ReadonlyArray<readonly [string, ErrorCode]>} */ ([
  // The page MAC is checked at each read, so a changed byte shows as one of these three.
  ['SQLITE_CORRUPT', 'ACCOUNT_DAMAGED'],
  ['SQLITE_NOTADB', 'ACCOUNT_DAMAGED'],
  ['SQLITE_IOERR_SHORT_READ', 'ACCOUNT_DAMAGED'],
  ['SQLITE_IOERR_DATA', 'ACCOUNT_DAMAGED'],
  ['SQLITE_IOERR_READ', 'ACCOUNT_DAMAGED'],
  // The -shm file cannot grow.
  ['SQLITE_IOERR_SHMSIZE', 'DISK_FULL'],
  // After a failed fsync the kernel may have dropped the pages: nobody knows what is on the disk. The same after a
  // write that failed for any other reason than a full disk.
  ['SQLITE_IOERR', 'NOT_DURABLE'],
  ['EIO', 'NOT_DURABLE'],
  ['EROFS', 'NOT_DURABLE'],
  ['SQLITE_FULL', 'DISK_FULL'],
  ['SQLITE_BUSY', 'BUSY'],
  ['SQLITE_LOCKED', 'BUSY'],
  ['SQLITE_READONLY', 'READ_ONLY'],
  ['ENOSPC', 'DISK_FULL'],
  ['EDQUOT', 'DISK_FULL'],
  // Most likely the file is root's, after a copy that root has made.
  ['EACCES', 'FILE_REFUSED'],
  ['EPERM', 'FILE_REFUSED'],
  // Where descriptors are left, the disk takes files, and the files may be opened, the file itself is gone, or something else is
  // in its place.
  ['SQLITE_CANTOPEN', 'ACCOUNT_DAMAGED'],
  // A thread could not start: it needs descriptors of its own.
  ['ERR_WORKER_INIT_FAILED', 'OVERLOADED'],
  ['EMFILE', 'OVERLOADED'],
  ['ENFILE', 'OVERLOADED']
])

/**
 * Node's own SQLite gives numbers instead of names; their last byte is the primary code.
 *
 * @type {ReadonlyMap<unknown, string>}
 */
const NAMES_BY_NUMBER = new Map([
  [5, 'SQLITE_BUSY'],
  [6, 'SQLITE_LOCKED'],
  [8, 'SQLITE_READONLY'],
  [10, 'SQLITE_IOERR'],
  [11, 'SQLITE_CORRUPT'],
  [13, 'SQLITE_FULL'],
  [14, 'SQLITE_CANTOPEN'],
  [26, 'SQLITE_NOTADB']
])

/**
 * @param {unknown} error
 * @returns {string} the `code` of an error of SQLite, Node or this program; empty if there is none
 */
export function errorCodeOf(error) {
  if (typeof error !== 'object' || error === null || !('code' in error)) return ''
  if (error.code === 'ERR_SQLITE_ERROR' && 'errcode' in error) {
    return NAMES_BY_NUMBER.get(Number(error.errcode) & 0xff) ?? error.code
  }
  return typeof error.code === 'string' ? error.code : ''
}

/**
 * Whether a statement met a lock that another connection holds, so that trying again later may do.
 *
 * @param {unknown} error
 * @returns {boolean}
 */
export function isBusy(error) {
  const code = errorCodeOf(error)
  return code === 'BUSY' || code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')
}

/**
 * SQLite has one code for all refusals of open(2), and takes a file that it may not write for a read-only one. Two reasons say
 * nothing about the file, and may pass: no descriptor is left, or the disk takes nothing new.
 *
 * @param {unknown} error
 * @param {string | undefined} folder
 * @returns {string | null} the system's code where it is one of the two: a file that is always there cannot be opened either,
 *   or nothing can be made in the folder
 */
function openFailure(error, folder) {
  const code = errorCodeOf(error)
  const isNotOpened = code.startsWith('SQLITE_CANTOPEN')
  try {
    if (isNotOpened) closeSync(openSync(devNull, 'r'))
  } catch (cause) {
    return errorCodeOf(cause)
  }
  const mayBeDisk = isNotOpened || code.startsWith('SQLITE_READONLY')
  return mayBeDisk && folder !== undefined ? diskTroubleNow(folder) : null
}

/**
 * SQLite has the same code for a file that this user may not open, and does not say which file it was.
 *
 * @param {unknown} error
 * @param {string | undefined} folder
 * @returns {NodeJS.ErrnoException | null} what the system says of the folder, or of the first of its files
 */
function refusalIn(error, folder) {
  if (folder === undefined || !errorCodeOf(error).startsWith('SQLITE_CANTOPEN')) return null
  const { R_OK, W_OK, X_OK } = constants
  try {
    accessSync(folder, R_OK | W_OK | X_OK)
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isFile()) accessSync(join(folder, entry.name), R_OK | W_OK)
    return null
  } catch (cause) {
    return ['EACCES', 'EPERM'].includes(errorCodeOf(cause))
      ? /** @type {NodeJS.ErrnoException} */ (cause)
      : null
  }
}

/**
 * @param {string} code
 * @param {unknown} error
 * @returns {string} for the log: the code, and the file that it is about
 */
function detailOf(code, error) {
  const { path } = /** @type {NodeJS.ErrnoException} */ (error)
  return typeof path === 'string' ? `${code} ${basename(path)}` : code
}

/**
 * A thread that has no descriptor left while it loads its modules reports an invalid package.json; that the file could not be
 * opened, and why, stands in the message alone.
 *
 * @param {unknown} error
 * @returns {string | null}
 */
function loadFailure(error) {
  if (errorCodeOf(error) !== 'ERR_INVALID_PACKAGE_CONFIG' || !(error instanceof Error)) return null
  return error.message.includes('too many open files') ? 'EMFILE' : null
}

/**
 * An error that ends a thread loses its class on the way here.
 *
 * @param {unknown} error
 * @returns {MailError | null} the MailError that it was in the thread; null where it was none
 */
function fromDeadThread(error) {
  if (!(error instanceof Error) || error.name !== 'MailError') return null
  const { code, detail = '' } = /** @type {MailError} */ (error)
  return code in ERROR_TABLE ? new MailError(code, { detail, cause: error }) : null
}

/**
 * Turns an error of SQLite or of the file system into a MailError. An error that the table does not know
 * comes back as it is: it is a fault of the program, and a code would hide the fault.
 *
 * @param {unknown} error
 * @param {string} [folder] - of the database, where that was being opened: then a disk that takes nothing, and a file that may
 *   not be opened, are told apart from one that is damaged
 * @returns {unknown}
 */
export function toMailError(error, folder) {
  if (error instanceof MailError) return error
  const died = fromDeadThread(error)
  if (died !== null) return died
  const failure = openFailure(error, folder)
  const refusal = failure === null ? refusalIn(error, folder) : null
  const code = failure ?? loadFailure(error) ?? errorCodeOf(refusal ?? error)
  const entry = CODE_BY_PREFIX.find(([prefix]) => code.startsWith(prefix))
  if (!entry) return error
  const detail = entry[1] === 'FILE_REFUSED' ? detailOf(code, refusal ?? error) : code
  return new MailError(entry[1], { detail, cause: refusal ?? error })
}
