/**
 * The thread of checkpoint.js: opens the file, moves what the `-wal` holds into it, closes it again.
 */
import { dirname } from 'node:path'
import { parentPort } from 'node:worker_threads'
import { isFrozen } from './freeze-file.js'
import { openEncryptedDatabase } from './open.js'
import { refreshStatistics } from './planner-statistics.js'
import { toMailError } from './sqlite-error.js'
import { toThreadFailure } from './thread.js'

/**
 * @typedef {import('./checkpoint.js').CheckpointJob} CheckpointJob
 * @typedef {import('./checkpoint.js').CheckpointResult} CheckpointResult
 */

/**
 * A checkpoint that may wait for readers does so for at most so many ms. The write lock is held meanwhile, so this bounds
 * what a reader in another process can cost our writers.
 */
const LOCK_WAIT_MS = 200

/**
 * @param {CheckpointJob} job
 * @returns {CheckpointResult}
 */
function runJob({ path, key, cipher, mode, mayWait, withOptimize }) {
  // A backup is copying the file: the -wal is checkpointed later.
  if (isFrozen(dirname(path))) return { busy: 1, log: 0, checkpointed: 0 }
  const { db } = openEncryptedDatabase({ path, key: new Uint8Array(key), cipher })
  try {
    db.pragma(`busy_timeout = ${mayWait ? LOCK_WAIT_MS : 0}`)
    if (withOptimize) refreshStatistics(db)
    // Both modes keep writers out for as long as they move frames: the bulk of them goes first, beside writers.
    db.pragma('wal_checkpoint(PASSIVE)')
    const [result] = /** @type {CheckpointResult[]} */ (db.pragma(`wal_checkpoint(${mode})`))
    return /** @type {CheckpointResult} */ (result)
  } finally {
    db.close()
  }
}

parentPort?.on('message', (/** @type {{ id: number, job: CheckpointJob }} */ { id, job }) => {
  try {
    parentPort?.postMessage({ id, result: runJob(job) })
  } catch (error) {
    parentPort?.postMessage({ id, failure: toThreadFailure(toMailError(error)) })
  }
})
