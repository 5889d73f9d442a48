/**
 * The thread of write-portable.js: copies the database and gives the copy its own key.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { copyDatabase } from '../database/copy.js'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'

/** @typedef {import('../database/thread.js').ThreadMessage} ThreadMessage */

/** @returns {ThreadMessage} */
function copy() {
  try {
    const { from, to, cipher, key, nextKey } = workerData
    copyDatabase({ from, to, cipher, key, nextKey })
    return { kind: 'done', value: null }
  } catch (error) {
    return { kind: 'failed', failure: toThreadFailure(toMailError(error)) }
  }
}

parentPort?.postMessage(copy())
