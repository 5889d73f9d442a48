/**
 * One long job on one mailbox, for a thread: a copy of many messages, a check of everything, the search index. It has a
 * connection of its own; the store that asked for it holds the lock on the account for it.
 */
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { endIfAsked } from '../database/endable-thread.js'
import { lockShared } from '../database/lock.js'
import { openEncryptedDatabase } from '../database/open.js'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'
import { runTransaction } from '../database/transaction.js'
import { Writers } from '../database/writers.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {{ kind: 'append', request: import('./long-append.js').LongAppendRequest }
 *   | { kind: 'copy', request: import('./copy-move.js').CopyRequest }
 *   | { kind: 'rename', request: import('./mailboxes.js').RenameRequest }
 *   | { kind: 'renameInbox', request: { to: string, nowMs: number } }
 *   | { kind: 'liftRestored', request: { nowMs: number, lifts: number } }
 *   | { kind: 'quickCheck' }
 *   | { kind: 'readAhead', request: import('./read-ahead-job.js').ReadAheadRequest }
 *   | { kind: 'index', request: import('./search/index-job.js').IndexRequest }
 *   | { kind: 'optimize' }
 *   | { kind: 'release', shared: SharedArrayBuffer }
 *   | { kind: 'sweep', shared: SharedArrayBuffer, nowMs: number }
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
 * @property {SharedArrayBuffer} [writers] - of the file's Writers; a process of its own does not see them
 * @property {boolean} [hasOwnLock] - in a process of its own, which may outlive the one that started it: it holds a lock
 *   on the account itself
 * @property {ThreadJob} job
 *
 * @typedef {object} JobSurroundings
 * @property {SharedArrayBuffer} writers - see ThreadData
 * @property {(value: unknown, moved?: ArrayBuffer[]) => void} onProgress - `moved`: memory that goes to who is told
 *
 * @typedef {(db: Database, surroundings: JobSurroundings) => unknown} RunJob - its value, or a promise of it, is the job's
 */

/** How long a process of its own waits for work on the whole file to end, milliseconds. */
const LOCK_WAIT_MS = 1000

/**
 * Does a job in the thread that calls it, and posts how it ended, when its connection is closed.
 *
 * @param {ThreadData} data
 */
export async function answerThreadJob(data) {
  const post = (
    /** @type {import('../database/thread.js').ThreadMessage} */ message,
    /** @type {ArrayBuffer[]} */ moved = []
  ) => parentPort?.postMessage(message, moved)
  try {
    const value = await openAndRun(data, (progress, moved) =>
      post({ kind: 'progress', value: progress }, moved)
    )
    post({ kind: 'done', value })
  } catch (error) {
    post({ kind: 'failed', failure: toThreadFailure(toMailError(error)) })
  }
}

/**
 * @param {ThreadData} data
 * @param {JobSurroundings['onProgress']} onProgress
 * @returns {Promise<unknown>} the job's result
 */
async function openAndRun(
  { key, job, hasOwnLock, writers = new Writers().shared, ...options },
  onProgress
) {
  const runJob = await loadJob(job)
  endIfAsked()
  const lock = hasOwnLock
    ? await lockShared(dirname(options.path), { timeoutMs: LOCK_WAIT_MS })
    : null
  try {
    const { db } = openEncryptedDatabase({ ...options, key: new Uint8Array(key), isBlocking: true })
    try {
      // Checkpoints are the checkpoint thread's: a large transaction must not be followed by one here.
      db.pragma('wal_autocheckpoint = 0')
      return await runJob(db, { writers, onProgress })
    } finally {
      db.close()
    }
  } finally {
    lock?.release()
  }
}

/**
 * Loads what the job needs, and no more: with the modules of all jobs, a thread would take twice as long to begin.
 *
 * @param {ThreadJob} job
 * @returns {Promise<RunJob>}
 */
async function loadJob(job) {
  switch (job.kind) {
    case 'append':
      return transaction((await import('./long-append.js')).appendStagedRows, job.request)
    case 'copy':
      return transaction((await import('./copy-move.js')).copyRows, job.request)
    case 'rename':
      return transaction((await import('./mailboxes.js')).renameMailboxRows, job.request)
    case 'renameInbox':
      return transaction((await import('./mailboxes.js')).renameInbox, job.request)
    case 'liftRestored':
      return transaction((await import('./lift-restored.js')).liftRestored, job.request)
    case 'quickCheck': {
      const { quickCheck } = await import('../database/sqlite-check.js')
      return quickCheck
    }
    case 'readAhead': {
      const { readAhead } = await import('./read-ahead-job.js')
      return (db, { onProgress }) => readAhead(db, job.request, onProgress)
    }
    case 'verify': {
      const { verifyAll } = await import('./verify.js')
      return (db, { onProgress }) => verifyAll(db, onProgress)
    }
    case 'optimize': {
      const { refreshStatistics } = await import('../database/planner-statistics.js')
      return refreshStatistics
    }
    case 'release': {
      const { releasePages } = await import('./upkeep/space.js')
      return (db, { writers, onProgress }) =>
        releasePages(db, { shared: job.shared, writers, onSlices: () => onProgress(null) })
    }
    case 'sweep': {
      const { sweepAll } = await import('./upkeep/sweep.js')
      return (db, { writers, onProgress }) =>
        sweepAll(db, { ...job, writers, onSlices: () => onProgress(null) })
    }
    case 'vacuum':
      return (db) => {
        db.exec('VACUUM')
      }
    case 'index': {
      const { indexPending } = await import('./search/index-job.js')
      return (db, { writers, onProgress }) =>
        indexPending(db, job.request, { writers, onBatch: onProgress })
    }
  }
}

/**
 * @template Request, Result
 * @param {(db: Database, request: Request) => Result} work
 * @param {Request} request
 * @returns {RunJob} commits what the work has written
 */
function transaction(work, request) {
  return (db) => runTransaction(db, () => work(db, request))
}
