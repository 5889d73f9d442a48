/**
 * Work that cannot be sliced runs in a thread with a connection of its own. A key goes there in shared memory: no copy
 * of it is left behind in a message.
 */
import { Worker } from 'node:worker_threads'
import { MailError } from '../errors.js'
import { toMailError } from './sqlite-error.js'

/**
 * @typedef {object} ThreadFailure - an error, as far as it crosses threads
 * @property {string} code - of MailError; empty for a fault of the program
 * @property {string} detail
 */

/**
 * @typedef {{ kind: 'progress', value: unknown } | { kind: 'done', value: unknown } | { kind: 'failed', failure: ThreadFailure }} ThreadMessage
 */

/**
 * @param {ThreadFailure} failure
 * @returns {Error}
 */
export function fromThreadFailure({ code, detail }) {
  if (code === '') return new Error(`A thread failed: ${detail}`)
  return new MailError(/** @type {import('../errors.js').ErrorCode} */ (code), { detail })
}

/**
 * @param {unknown} error - mapped
 * @returns {ThreadFailure}
 */
export function toThreadFailure(error) {
  if (error instanceof MailError) return { code: error.code, detail: error.detail ?? '' }
  return { code: '', detail: error instanceof Error ? (error.stack ?? error.message) : 'unknown' }
}

/**
 * Each thread has a heap of its own. A thread that decodes large mail makes much garbage, and its young
 * generation would grow by tens of megabytes; with this limit the garbage is collected earlier instead.
 */
export const THREAD_LIMITS = Object.freeze({ maxYoungGenerationSizeMb: 6 })

/**
 * Runs a module once as a thread; it posts a ThreadMessage when it is done.
 *
 * @param {URL} module
 * @param {object} options
 * @param {unknown} options.data - its `workerData`
 * @returns {Promise<unknown>} the value of its `done` message
 * @throws {MailError} what the thread failed with
 */
export function runThread(module, { data }) {
  return new Promise((resolve, reject) => {
    const worker = new Worker(module, { workerData: data, resourceLimits: THREAD_LIMITS })
    /** @type {ThreadMessage | null} */
    let last = null
    worker.on('message', (/** @type {ThreadMessage} */ message) => {
      last = message
    })
    worker.on('error', (error) => reject(toMailError(error)))
    // Settled at the exit, not at the last message: only then is the thread's connection closed for certain.
    worker.on('exit', (code) => {
      if (last?.kind === 'done') resolve(last.value)
      else if (last?.kind === 'failed') reject(fromThreadFailure(last.failure))
      else reject(new Error(`A thread ended with code ${code}`))
    })
  })
}
