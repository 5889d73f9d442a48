/**
 * The thread of freeze.js: holds read marks, each on a connection of its own.
 *
 * SQLite's read mark 0 is what a reader takes when everything in the `-wal` is in the database already: it reads the
 * database file alone, and until it ends no process may write to that file, not even a last close.
 */
import { statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort } from 'node:worker_threads'
import { mailFile } from './database-files.js'
import { MailError } from '../errors.js'
import { lockShared } from './lock.js'
import { openEncryptedDatabase } from './open.js'
import { isBusy, toMailError } from './sqlite-error.js'
import { toThreadFailure } from './thread.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./freeze.js').HoldRequest} HoldRequest
 *
 * @typedef {object} Hold
 * @property {Database} db - inside the read transaction that is the hold
 * @property {import('./lock.js').MailLock} lock - shared: no work on the whole file meanwhile
 * @property {NodeJS.Timeout} timer - ends it at the deadline
 */

/** A quiet moment is waited for at most so many ms; then the mailbox counts as busy. */
const TRY_MS = 10_000

/** Pause between two tries, ms, for writers. */
const PAUSE_MS = 10

/** TRUNCATE waits at most so many ms for readers, with the write lock held: so much a try costs a writer. */
const LOCK_WAIT_MS = 20

/** @type {Map<string, Hold>} by token */
const holds = new Map()

/**
 * @param {string} path - of the database
 * @returns {number} bytes in its `-wal`, by stat: the file is not opened
 */
function walBytes(path) {
  return statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
}

/**
 * @param {Database} db
 * @param {string} path
 * @returns {boolean} whether the connection has read mark 0 now
 */
function takeReadMark(db, path) {
  try {
    // PASSIVE first: it moves most frames, and holds up nobody.
    db.pragma('wal_checkpoint(PASSIVE)')
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.exec('BEGIN')
    db.prepare('SELECT count(*) FROM sqlite_schema').get()
    // An empty -wal was empty when the reader began, too: a reader of frames would have kept them there.
    if (walBytes(path) === 0) return true
    db.exec('ROLLBACK')
    return false
  } catch (error) {
    if (db.inTransaction) db.exec('ROLLBACK')
    if (isBusy(error)) return false
    throw error
  }
}

/**
 * @param {string} token
 * @returns {boolean} whether the mark was held until now
 */
function release(token) {
  const held = holds.get(token)
  if (!held) return false
  holds.delete(token)
  clearTimeout(held.timer)
  held.db.exec('ROLLBACK')
  // The last close may have a whole -wal to move: the answer does not wait for it.
  setImmediate(() => {
    held.db.close()
    held.lock.release()
  })
  return true
}

/**
 * @param {string} token
 * @param {number} forMs
 * @returns {NodeJS.Timeout}
 */
const deadline = (token, forMs) => setTimeout(() => release(token), forMs)

/** @param {HoldRequest} request */
async function hold({ token, folder, key, cipher, forMs }) {
  const path = mailFile(folder)
  const lock = await lockShared(folder, { timeoutMs: 0 })
  /** @type {Database | null} */
  let db = null
  try {
    db = openEncryptedDatabase({ path, key: new Uint8Array(key), cipher }).db
    db.pragma(`busy_timeout = ${LOCK_WAIT_MS}`)
    const startedMs = performance.now()
    while (!takeReadMark(db, path)) {
      if (performance.now() - startedMs > TRY_MS)
        throw new MailError('BUSY', { detail: 'no quiet moment for a freeze' })
      await sleep(PAUSE_MS)
    }
    holds.set(token, { db, lock, timer: deadline(token, forMs) })
  } catch (error) {
    db?.close()
    lock.release()
    throw error
  }
}

/**
 * @param {string} token
 * @param {number} forMs
 * @returns {boolean} false where the hold has ended already
 */
function renew(token, forMs) {
  const held = holds.get(token)
  if (!held) return false
  clearTimeout(held.timer)
  held.timer = deadline(token, forMs)
  return true
}

/**
 * @param {import('./freeze.js').FreezeJob} job
 * @returns {Promise<boolean>}
 */
async function runJob(job) {
  switch (job.kind) {
    case 'hold':
      await hold(job.request)
      return true
    case 'renew':
      return renew(job.token, job.forMs)
    case 'release':
      return release(job.token)
  }
}

parentPort?.on(
  'message',
  async (/** @type {{ id: number, job: import('./freeze.js').FreezeJob }} */ { id, job }) => {
    try {
      parentPort?.postMessage({ id, result: await runJob(job) })
    } catch (error) {
      parentPort?.postMessage({ id, failure: toThreadFailure(toMailError(error)) })
    }
  }
)
