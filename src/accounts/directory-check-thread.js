/**
 * SQLite's own check of the directory, in a thread with a connection of its own: it cannot be sliced, and takes some
 * milliseconds for each thousand accounts.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { openPlainDatabase } from '../database/open.js'
import { isMailError } from '../errors.js'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'

/** Problems that are told, at most. */
const MAX_PROBLEMS = 10

/** @typedef {import('../database/thread.js').ThreadMessage} ThreadMessage */

/** @returns {ThreadMessage} */
function check() {
  try {
    const db = openPlainDatabase(workerData.path, { isReadOnly: true })
    try {
      const rows = /** @type {{ quick_check: string }[]} */ (
        db.pragma(`quick_check(${MAX_PROBLEMS})`)
      )
      const problems = rows.map((row) => row.quick_check).filter((text) => text !== 'ok')
      return { kind: 'done', value: problems }
    } finally {
      db.close()
    }
  } catch (cause) {
    const error = toMailError(cause)
    // So damaged that the check cannot be made: that is its answer.
    if (isMailError(error, 'ACCOUNT_DAMAGED')) {
      return { kind: 'done', value: [error.detail ?? error.message] }
    }
    return { kind: 'failed', failure: toThreadFailure(error) }
  }
}

parentPort?.postMessage(check())
