/**
 * The thread of a process of its own: it does the one job that it was started with.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'
import { runThreadJob } from './thread-job.js'

try {
  const value = await runThreadJob(workerData, (progress) =>
    parentPort?.postMessage({ kind: 'progress', value: progress })
  )
  parentPort?.postMessage({ kind: 'done', value })
} catch (error) {
  parentPort?.postMessage({ kind: 'failed', failure: toThreadFailure(toMailError(error)) })
}
