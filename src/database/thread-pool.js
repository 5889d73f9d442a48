/**
 * Threads that stay a while and take one job after the other, from all mailboxes of the process: to start one and to load
 * its modules costs more processor time than most jobs.
 */
import PQueue from 'p-queue'
import { MailError } from '../errors.js'
import { endThread, startThread } from './endable-thread.js'
import { toMailError } from './sqlite-error.js'
import { fromThreadFailure, THREAD_LIMITS } from './thread.js'

/** @typedef {import('./thread.js').ThreadMessage} ThreadMessage */

/**
 * A thread waits for its next job for so many ms by default. The index waits for pauses of ten seconds, so that each user at work
 * has one job for it in as long. When each job had a new thread, which loads its modules and has all of its code compiled anew,
 * that took a quarter of the processor time of everything in the background (measured with nine users at work). A waiting thread
 * holds some 40 MB.
 */
const IDLE_MS = 30_000

/** At most so many threads wait for a job: two mailboxes are indexed at once while another is swept. */
const MAX_IDLE = 3

/**
 * @typedef {object} Job
 * @property {unknown} data - what the thread gets
 * @property {AbortSignal} [signal] - ends the wait for a thread, or the thread, whose open transaction SQLite rolls back
 * @property {(value: unknown) => void} [onProgress]
 */

/** One thread, which has a job or waits for one. */
class PooledThread {
  /** @type {NodeJS.Timeout | null} set while it waits */
  idleTimer = null
  /** @type {unknown} what it died of */
  error = null
  isEnding = false

  /**
   * @param {URL} module
   * @param {object} workerData
   */
  constructor(module, workerData) {
    this.worker = startThread(module, { workerData, resourceLimits: THREAD_LIMITS })
    this.worker.on('error', (error) => {
      this.error = toMailError(error)
      this.isEnding = true
    })
    this.worker.once('exit', () => {
      this.isEnding = true
    })
  }

  /** @returns {Promise<void>} when it has ended */
  end() {
    if (this.idleTimer) clearTimeout(this.idleTimer)
    this.isEnding = true
    return endThread(this.worker)
  }
}

/** Gives each job a thread of its own while it runs. */
export class ThreadPool {
  #turns
  #module
  #workerData
  #idleMs
  #keptThreads
  /** @type {PooledThread[]} the last one was used last */
  #idle = []

  /**
   * @param {URL} module - run as the thread; it posts ThreadMessages for each message that it gets
   * @param {object} [options]
   * @param {object} [options.workerData]
   * @param {number} [options.idleMs]
   * @param {number} [options.maxThreads] - at work at once; more jobs wait. Default: as many as are asked for
   * @param {number} [options.keptThreads] - of those that wait for a job, so many wait for as long as it takes; default none
   */
  constructor(
    module,
    { workerData = {}, idleMs = IDLE_MS, maxThreads = Infinity, keptThreads = 0 } = {}
  ) {
    this.#turns = new PQueue({ concurrency: maxThreads })
    this.#module = module
    this.#workerData = workerData
    this.#idleMs = idleMs
    this.#keptThreads = keptThreads
  }

  /** Starts the threads that are kept, so that the first jobs do not wait for them. */
  prepare() {
    for (let missing = this.#keptThreads - this.#idle.length; missing > 0; missing--)
      this.#giveBack(new PooledThread(this.#module, this.#workerData))
  }

  /** @returns {Promise<void>} when the threads that wait for a job have ended; the next job starts one */
  async endIdle() {
    await Promise.all(this.#idle.splice(0).map((thread) => thread.end()))
  }

  /**
   * @param {Job} job
   * @returns {Promise<unknown>} the value of its `done` message
   * @throws {MailError} what the job failed with; SHUTTING_DOWN when it was ended
   */
  async run(job) {
    const { signal } = job
    // Not the job's own: whoever ends a job must wait until its thread has ended, and the queue would not.
    const leaving = new AbortController()
    const leave = () => leaving.abort(new MailError('SHUTTING_DOWN'))
    if (signal?.aborted) leave()
    signal?.addEventListener('abort', leave, { once: true })
    const begin = () => {
      signal?.removeEventListener('abort', leave)
      return this.#run(job)
    }
    return await this.#turns.add(begin, { signal: leaving.signal })
  }

  /**
   * @param {Job} job
   * @returns {Promise<unknown>}
   */
  #run({ data, signal, onProgress }) {
    const thread = this.#take()
    const { worker } = thread
    return new Promise((resolve, reject) => {
      /** @type {ThreadMessage | null} */
      let last = null
      const settle = () => {
        worker.off('message', onMessage)
        worker.off('exit', settle)
        signal?.removeEventListener('abort', onAbort)
        if (last?.kind === 'done') resolve(last.value)
        else if (last?.kind === 'failed') reject(fromThreadFailure(last.failure))
        else if (signal?.aborted) reject(new MailError('SHUTTING_DOWN'))
        else reject(thread.error ?? new Error('A thread ended before its job was done'))
      }
      const onMessage = (/** @type {ThreadMessage} */ message) => {
        if (message.kind === 'progress') return onProgress?.(message.value)
        last = message
        // A thread that ends is waited for until its exit.
        if (thread.isEnding) return
        settle()
        this.#giveBack(thread)
      }
      const onAbort = () => thread.end()
      worker.on('message', onMessage)
      worker.once('exit', settle)
      signal?.addEventListener('abort', onAbort, { once: true })
      worker.postMessage(data)
    })
  }

  /** @returns {PooledThread} */
  #take() {
    for (;;) {
      const thread = this.#idle.pop()
      if (thread === undefined) return new PooledThread(this.#module, this.#workerData)
      if (thread.idleTimer) clearTimeout(thread.idleTimer)
      thread.idleTimer = null
      if (thread.isEnding) continue
      thread.worker.ref()
      return thread
    }
  }

  /** @param {PooledThread} thread */
  #giveBack(thread) {
    // A thread that has died while it waited must not be kept.
    this.#idle = this.#idle.filter(({ isEnding }) => !isEnding)
    if (this.#idle.length >= MAX_IDLE) {
      thread.end()
      return
    }
    // A thread that waits keeps no process alive.
    thread.worker.unref()
    thread.idleTimer = setTimeout(() => {
      const at = this.#idle.indexOf(thread)
      if (at === -1 || this.#idle.length <= this.#keptThreads) return
      this.#idle.splice(at, 1)
      thread.end()
    }, this.#idleMs).unref()
    this.#idle.push(thread)
  }
}
