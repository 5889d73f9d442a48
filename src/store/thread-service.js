/**
 * A thread of store-threads.js: it does one job after the other, for one mailbox after the other.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'
import { stepBack } from '../support/step-back.js'
import { runThreadJob } from './thread-job.js'

/** @typedef {import('../database/thread.js').ThreadMessage} ThreadMessage */

const post = (/** @type {ThreadMessage} */ message) => parentPort?.postMessage(message)

if (workerData.isBackground) stepBack()
parentPort?.on('message', async (/** @type {import('./thread-job.js').ThreadData} */ data) => {
  try {
    const value = await runThreadJob(data, (progress) =>
      post({ kind: 'progress', value: progress })
    )
    post({ kind: 'done', value })
  } catch (error) {
    post({ kind: 'failed', failure: toThreadFailure(toMailError(error)) })
  }
})
