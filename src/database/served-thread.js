/**
 * A thread that stays and takes one job after the other from all mailboxes of the process. It is started for the first job.
 */
import { MailError } from '../errors.js'
import { endThread, startThread } from './endable-thread.js'
import { toMailError } from './sqlite-error.js'
import { fromThreadFailure } from './thread.js'

/**
 * @typedef {object} ThreadReply - what the thread posts for a message of `{ id, job }`
 * @property {number} id
 * @property {unknown} [result]
 * @property {import('./thread.js').ThreadFailure} [failure]
 */

/**
 * @template Job, Result
 */
export class ServedThread {
  #module
  /** @type {import('node:worker_threads').Worker | null} */
  #worker = null
  /** @type {Map<number, { resolve: (result: Result) => void, reject: (error: Error) => void }>} */
  #waiting = new Map()
  #lastId = 0
  #isClosed = false

  /** @param {URL} module - run as the thread */
  constructor(module) {
    this.#module = module
  }

  /** @returns {boolean} whether there is a thread: without one nothing is held */
  get isRunning() {
    return this.#worker !== null
  }

  /**
   * @param {Job} job
   * @returns {Promise<Result>}
   * @throws {MailError} what the job failed with; SHUTTING_DOWN when the thread was ended
   */
  run(job) {
    if (this.#isClosed) return Promise.reject(new MailError('SHUTTING_DOWN'))
    return new Promise((resolve, reject) => {
      // Started before the job is noted: where no thread can be started, nobody must wait for an answer.
      this.#worker ??= this.#start()
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      // Referenced only while somebody waits: an idle thread keeps no process alive.
      this.#worker.ref()
      this.#worker.postMessage({ id, job })
    })
  }

  /** Ends the thread, in the middle of a job if need be. */
  async close() {
    this.#isClosed = true
    if (this.#worker) await endThread(this.#worker)
  }

  /** @returns {import('node:worker_threads').Worker} */
  #start() {
    const worker = startThread(this.#module)
    worker.on('message', (/** @type {ThreadReply} */ { id, result, failure }) => {
      const waiter = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) worker.unref()
      if (failure) waiter?.reject(fromThreadFailure(failure))
      else waiter?.resolve(/** @type {Result} */ (result))
    })
    worker.on('error', (error) => this.#end(worker, /** @type {Error} */ (toMailError(error))))
    worker.on('exit', () => this.#end(worker, new MailError('SHUTTING_DOWN')))
    return worker
  }

  /**
   * @param {import('node:worker_threads').Worker} worker
   * @param {Error} error
   */
  #end(worker, error) {
    // A thread that has died of an error exits a moment later, when there may be another one.
    if (this.#worker !== worker) return
    this.#worker = null
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
