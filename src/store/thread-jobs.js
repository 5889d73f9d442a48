/**
 * The thread for one long job on one mailbox: a copy of many messages, a check of everything, the search index. It has a connection of its own; the store that started it holds the lock on the account for it.
 */
import { dirname } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { lockShared } from '../database/lock.js'
import { openEncryptedDatabase } from '../database/open.js'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'
import { runTransaction } from '../database/transaction.js'
import { stepBack } from '../support/step-back.js'
import { copyRows } from './copy-move.js'
import { liftRestored } from './lift-restored.js'
import { renameInbox } from './mailboxes.js'
import { releasePages } from './upkeep/space.js'
import { sweepAll } from './upkeep/sweep.js'
import { quickCheck, verifyAll } from './verify.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {{ kind: 'copy', request: import('./copy-move.js').CopyRequest }
 *   | { kind: 'renameInbox', request: { to: string, nowMs: number } }
 *   | { kind: 'liftRestored', request: { nowMs: number } }
 *   | { kind: 'quickCheck' }
 *   | { kind: 'index', activity: SharedArrayBuffer }
 *   | { kind: 'optimize' }
 *   | { kind: 'release' | 'sweep', shared: SharedArrayBuffer }
 *   | { kind: 'vacuum' }
 *   | { kind: 'verify' }} ThreadJob
 *
 * @typedef {object} ThreadData
 * @property {string} path
 * @property {SharedArrayBuffer} key
 * @property {import('../database/setup-pragma.js').Cipher} cipher
 * @property {import('../database/temp-store.js').TempStore} tempStore
 * @property {string} tempFolder - where `disk` is: a process of its own has not been told yet
 * @property {'ON' | 'FAST'} secureDelete
 * @property {boolean} isReadOnly
 * @property {boolean} [hasOwnLock] - in a process of its own, which may outlive the one that started it: it holds a lock
 *   on the account itself
 * @property {ThreadJob} job
 */

/**
 * @param {Database} db
 * @param {ThreadJob} job
 * @returns {Promise<unknown>}
 */
async function runJob(db, job) {
  const onProgress = (/** @type {unknown} */ value) =>
    parentPort?.postMessage({ kind: 'progress', value })
  switch (job.kind) {
    case 'copy':
      return runTransaction(db, () => copyRows(db, job.request))
    case 'renameInbox':
      return runTransaction(db, () => renameInbox(db, job.request))
    case 'liftRestored':
      return runTransaction(db, () => liftRestored(db, job.request))
    case 'quickCheck':
      return quickCheck(db)
    case 'verify':
      return verifyAll(db, onProgress)
    case 'optimize':
      // 0x10002: all tables, those that were never analysed too; analysis_limit bounds what it reads.
      db.pragma('optimize = 0x10002')
      return null
    case 'release':
      return await releasePages(db, { shared: job.shared, onSlices: () => onProgress(null) })
    case 'sweep':
      return await sweepAll(db, { shared: job.shared, onSlices: () => onProgress(null) })
    case 'vacuum':
      db.exec('VACUUM')
      return null
    // Loaded when they are needed: what reads text is most of the program, and a copy must not wait for it.
    case 'index': {
      const { indexPending } = await import('./search/index-job.js')
      return await indexPending(db, { activity: job.activity, onBatch: onProgress })
    }
  }
}

/** Jobs that nobody waits for, and whose transactions are short. */
const BACKGROUND_JOBS = new Set(['index', 'optimize', 'quickCheck', 'release', 'sweep'])

/** How long a process of its own waits for work on the whole file to end, milliseconds. */
const LOCK_WAIT_MS = 1000

const { key, job, hasOwnLock, ...options } = /** @type {ThreadData} */ (workerData)
try {
  if (BACKGROUND_JOBS.has(job.kind)) stepBack()
  const lock = hasOwnLock
    ? await lockShared(dirname(options.path), { timeoutMs: LOCK_WAIT_MS })
    : null
  const { db } = openEncryptedDatabase({ ...options, key: new Uint8Array(key), isBlocking: true })
  try {
    // Checkpoints are the checkpoint thread's: a large transaction must not be followed by one here.
    db.pragma('wal_autocheckpoint = 0')
    parentPort?.postMessage({ kind: 'done', value: await runJob(db, job) })
  } finally {
    db.close()
    lock?.release()
  }
} catch (error) {
  parentPort?.postMessage({ kind: 'failed', failure: toThreadFailure(toMailError(error)) })
}
