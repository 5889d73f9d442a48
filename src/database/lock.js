/**
 * Who has a mailbox open. Mail itself needs no such lock (SQLite sees to it), but what changes the file as a
 * whole does: migration, change of cipher or key, compaction, repair, restore, delete.
 *
 * The lock is SQLite's own, on the empty plain database `mail.lock`: a shared holder has a read transaction open,
 * the exclusive one an exclusive transaction. So it ends with the process, however the process ends.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import Database from './library.js'
import { isBusy, toMailError } from './sqlite-error.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} DatabaseHandle */

/** Time between two tries at a taken lock, milliseconds. */
const RETRY_MS = 25

/** The lock on a mailbox. */
const MAIL_LOCK = 'mail.lock'

/** A lock on one account's folder, held until `release`. */
export class MailLock {
  #db

  /** @param {DatabaseHandle} db - inside the transaction that is the lock */
  constructor(db) {
    this.#db = db
  }

  /** Gives the lock up; further calls do nothing. */
  release() {
    if (!this.#db.open) return
    // Rolled back, not committed: an exclusive commit would write a first page.
    this.#db.exec('ROLLBACK')
    this.#db.close()
  }
}

/**
 * @param {string} folder - the account's folder
 * @param {'shared' | 'exclusive'} mode
 * @param {string} file - within the folder
 * @returns {MailLock | null} null when somebody holds it otherwise
 */
function tryLock(folder, mode, file) {
  /** @type {import('better-sqlite3-multiple-ciphers').Database | null} */
  let db = null
  try {
    db = new Database(join(folder, file), { timeout: 0 })
    db.exec(mode === 'shared' ? 'BEGIN' : 'BEGIN EXCLUSIVE')
    if (mode === 'shared') db.prepare('SELECT count(*) FROM sqlite_schema').get()
    return new MailLock(db)
  } catch (error) {
    db?.close()
    if (isBusy(error)) return null
    throw toMailError(error)
  }
}

/**
 * @param {string} folder
 * @param {'shared' | 'exclusive'} mode
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
 * What everybody holds who has the mailbox open.
 *
 * @param {string} folder - the account's folder
 * @param {{ timeoutMs: number }} options - how long to wait for work on the whole file to end
 * @returns {Promise<MailLock>}
 * @throws {MailError} BUSY
 */
export const lockShared = (folder, { timeoutMs }) => waitForLock(folder, 'shared', timeoutMs)

/**
 * What work on the whole file holds: nobody else has the mailbox open, in this process or any other.
 *
 * @param {string} folder - the account's folder
 * @param {{ timeoutMs: number }} options - how long to wait for the last opener to go
 * @returns {Promise<MailLock>}
 * @throws {MailError} BUSY
 */
export const lockExclusive = (folder, { timeoutMs }) => waitForLock(folder, 'exclusive', timeoutMs)

/**
 * A lock of another name, for what a host does once at a time. It ends with the process, as the others do.
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
