/**
 * Locks that say who has a mailbox open. Reading and writing mail need none (SQLite sees to that), but work on the file
 * as a whole does: migration, change of cipher or key, compaction, repair, restore, delete.
 *
 * The lock is SQLite's own, on the empty plain database `mail.lock`: a shared holder has a read transaction open,
 * the exclusive one an exclusive transaction, and beside shared ones there is room for one reserved holder (BEGIN IMMEDIATE). So
 * the lock ends with the process, however the process ends.
 *
 * It is Node's SQLite that holds it. The cipher's library keeps a list of all files that are open through it and goes through
 * that before it reads an overflow page, so that each locked mailbox, also one that sleeps, made all others slower. Nobody
 * may open such a file through both: closing it in one drops the locks of the other.
 */
import { ftruncateSync, openSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { MailError, isMailError } from '../errors.js'
import { errorCodeOf, isBusy, toMailError } from './sqlite-error.js'

/** A taken lock is tried again after so many ms. */
const RETRY_MS = 25

/** SQLite's smallest page, bytes: with the default size a lock would take 80 kB more memory. */
const SMALLEST_PAGE_BYTES = 512

/** Name of the file that is the lock on a mailbox. */
export const MAIL_LOCK = 'mail.lock'

const BEGIN = Object.freeze({
  shared: 'BEGIN; SELECT count(*) FROM sqlite_schema',
  reserved: 'BEGIN IMMEDIATE',
  exclusive: 'BEGIN EXCLUSIVE'
})

/** @typedef {keyof typeof BEGIN} LockMode */

/** A lock on one account's folder, held until `release`. */
export class MailLock {
  #db

  /** @param {DatabaseSync} db - inside the transaction that is the lock */
  constructor(db) {
    this.#db = db
  }

  /** Gives the lock up; further calls do nothing. */
  release() {
    if (!this.#db.isOpen) return
    // Rolled back, not committed: an exclusive commit would write a first page.
    this.#db.exec('ROLLBACK')
    this.#db.close()
  }
}

/**
 * @param {string} folder - the account's folder
 * @param {LockMode} mode
 * @param {string} file - within the folder
 * @returns {MailLock | null} null where somebody holds it in a mode that excludes this one
 */
function tryLock(folder, mode, file) {
  /** @type {DatabaseSync | null} */
  let db = null
  try {
    db = new DatabaseSync(join(folder, file), { timeout: 0 })
    // SQLite makes a cache of twenty pages, none of which is ever written here.
    db.exec(`PRAGMA page_size = ${SMALLEST_PAGE_BYTES}`)
    db.exec(BEGIN[mode])
    return new MailLock(db)
  } catch (error) {
    // Mapped before the close, which frees a descriptor: afterwards nobody could tell that none had been left.
    const mapped = toMailError(error, folder)
    db?.close()
    if (isBusy(error)) return null
    if (errorCodeOf(error) !== 'SQLITE_NOTADB') throw mapped
  }
  empty(join(folder, file))
  return tryLock(folder, mode, file)
}

/**
 * Mends a damaged lock file, which has nobody's data. It is emptied in its place, so that the locks that others have on it stay;
 * and the descriptor is never closed, which would drop the locks of this process.
 *
 * @param {string} path - of a file that SQLite does not take for one of its own
 */
function empty(path) {
  try {
    ftruncateSync(openSync(path, 'r+'))
  } catch (error) {
    throw toMailError(error)
  }
}

/**
 * @param {string} folder
 * @param {LockMode} mode
 * @param {number} timeoutMs
 * @param {string} [file]
 * @returns {Promise<MailLock>}
 */
async function waitForLock(folder, mode, timeoutMs, file = MAIL_LOCK) {
  const startedMs = performance.now()
  for (;;) {
    const lock = tryLock(folder, mode, file)
    if (lock) return lock
    if (performance.now() - startedMs >= timeoutMs)
      throw new MailError('BUSY', { detail: `${file}, ${mode}` })
    await sleep(RETRY_MS)
  }
}

/**
 * @param {unknown} error - of work that needs the mailbox alone
 * @returns {boolean} true: somebody has the mailbox open; false: other work on the file is in the way, or another error
 */
export const isOpenElsewhere = (error) =>
  isMailError(error, 'BUSY') &&
  (error.detail?.startsWith(`${MAIL_LOCK}, `) === true || isBusy(error.cause))

/**
 * Takes the lock that everybody holds who has the mailbox open.
 *
 * @param {string} folder - the account's folder
 * @param {{ timeoutMs: number }} options - how long to wait for work on the whole file to end
 * @returns {Promise<MailLock>}
 * @throws {MailError} BUSY
 */
export const lockShared = (folder, { timeoutMs }) => waitForLock(folder, 'shared', timeoutMs)

/**
 * Takes the lock for work on the whole file: nobody else has the mailbox open, in this process or any other.
 *
 * @param {string} folder - the account's folder
 * @param {{ timeoutMs: number }} options - how long to wait for the last opener to go
 * @returns {Promise<MailLock>}
 * @throws {MailError} BUSY
 */
export const lockExclusive = (folder, { timeoutMs }) => waitForLock(folder, 'exclusive', timeoutMs)

/**
 * Takes the lock that one of those who have the mailbox open may hold beside the shared locks of all: for work that need not be
 * done twice.
 *
 * @param {string} folder - the account's folder, of which the caller holds the shared lock
 * @returns {MailLock | null} null where somebody else holds it, or waits for the exclusive lock
 */
export const tryReserve = (folder) => tryLock(folder, 'reserved', MAIL_LOCK)

/**
 * Takes a lock of another name, for work that a host does once at a time. It ends with the process, as the others do.
 *
 * @param {string} folder
 * @param {string} file - made in it
 * @returns {Promise<MailLock>}
 * @throws {MailError} BUSY at once
 */
export const lockAlone = (folder, file) => waitForLock(folder, 'exclusive', 0, file)

/**
 * Runs `work` while nobody else has the mailbox open.
 *
 * @template T
 * @param {string} folder - the account's folder
 * @param {{ timeoutMs: number }} options
 * @param {() => Promise<T> | T} work
 * @returns {Promise<T>}
 * @throws {MailError} BUSY
 */
export async function withExclusiveLock(folder, options, work) {
  const lock = await lockExclusive(folder, options)
  try {
    return await work()
  } finally {
    lock.release()
  }
}
