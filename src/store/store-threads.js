/**
 * Starts thread-jobs.js for one open store.
 */
import { runThread } from '../database/thread.js'

/** @typedef {import('./thread-jobs.js').ThreadData} ThreadData */

const MODULE = new URL('thread-jobs.js', import.meta.url)

/** Runs long jobs, each in a thread of its own, while the store is open. */
export class StoreThreads {
  #database
  #settings

  /**
   * @param {import('./account-database.js').AccountDatabase} database
   * @param {Pick<ThreadData, 'key' | 'cipher' | 'tempStore' | 'secureDelete'>} settings
   */
  constructor(database, settings) {
    this.#database = database
    this.#settings = settings
  }

  /**
   * @param {import('./thread-jobs.js').ThreadJob} job
   * @param {{ onProgress?: (value: unknown) => void, signal?: AbortSignal }} [options] - `signal` ends the thread
   * @returns {Promise<unknown>} the job's result; what it has committed is not durable yet
   * @throws {import('../errors.js').MailError} what it failed with; SHUTTING_DOWN when it was ended
   */
  run(job, { onProgress, signal } = {}) {
    const { path, isReadOnly, closing } = this.#database
    return this.#database.whileOpen(() =>
      runThread(MODULE, {
        data: { ...this.#settings, path, isReadOnly, job },
        signal: signal ? AbortSignal.any([closing, signal]) : closing,
        ...(onProgress && { onProgress })
      })
    )
  }
}
