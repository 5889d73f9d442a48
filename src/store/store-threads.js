/**
 * Has threads do the long jobs of one open store.
 */
import { ThreadPool } from '../database/thread-pool.js'

/** @typedef {import('./thread-job.js').ThreadData} ThreadData */

const SERVICE = new URL('thread-service.js', import.meta.url)
const ONCE = new URL('thread-once.js', import.meta.url)

/** Jobs that nobody waits for, and whose transactions are short. */
const BACKGROUND_JOBS = new Set(['index', 'release', 'sweep'])

/**
 * Threads for jobs that users wait for, some 14 MB each: more of them get nothing done sooner. A hundred users who copied
 * 1,500 messages at once took 1.4 GB and 6 s with a thread each.
 */
const FOREGROUND_THREADS = 16

/**
 * Kept for them in a server: a user's jobs are minutes apart, and to start a thread for each made him wait some 40 ms longer
 * (measured). It holds some 15 MB.
 */
const KEPT_THREADS = 1

/** The threads of all stores of the process. */
const pools = {
  background: new ThreadPool(SERVICE, { workerData: { isBackground: true } }),
  foreground: new ThreadPool(SERVICE, {
    workerData: { isBackground: false },
    maxThreads: FOREGROUND_THREADS,
    keptThreads: KEPT_THREADS
  })
}

/** For a server that is ready: starts the thread that is kept for users' jobs. */
export const prepareStoreThreads = () => pools.foreground.prepare()

/** @returns {Promise<void>} when all threads that wait for a job have ended; for a server whose mailboxes are closed */
export async function endStoreThreads() {
  await Promise.all([pools.foreground.endIdle(), pools.background.endIdle()])
}

/** Jobs whose one transaction is long, and that a user waits for. */
const LONG_WRITES = new Set(['append', 'copy', 'rename', 'renameInbox'])

/** Runs long jobs, each in a thread that has no other meanwhile, while the store is open. */
export class StoreThreads {
  #database
  #children
  #settings
  #onCommit

  /**
   * @param {import('./account-database.js').AccountDatabase} database
   * @param {import('../database/child.js').ChildPool} children
   * @param {Pick<ThreadData, 'key' | 'cipher' | 'tempStore' | 'tempFolder' | 'secureDelete'>} settings
   * @param {() => void} onCommit - called after the sync of what a thread has committed for a user
   */
  constructor(database, children, settings, onCommit) {
    this.#database = database
    this.#children = children
    this.#settings = settings
    this.#onCommit = onCommit
  }

  /**
   * @param {import('./thread-job.js').ThreadJob} job
   * @param {object} [options]
   * @param {(value: unknown) => void} [options.onProgress]
   * @param {AbortSignal} [options.signal] - ends the thread
   * @param {boolean} [options.isUrgent] - somebody waits for it after all
   * @returns {Promise<unknown>} the job's result; what it has committed is not durable yet
   * @throws {import('../errors.js').MailError} what it failed with; SHUTTING_DOWN when it was ended
   */
  run(job, { onProgress, signal, isUrgent = false } = {}) {
    const { path, isReadOnly, closing, use } = this.#database
    const isLongWrite = LONG_WRITES.has(job.kind)
    if (isLongWrite) use.announceWrite()
    const isBackground = BACKGROUND_JOBS.has(job.kind) && !isUrgent
    const pool = isBackground ? pools.background : pools.foreground
    return this.#database.whileOpen(() =>
      use.writers.watch((onBusy) => {
        // It waits inside SQLite, where nobody is told.
        if (isLongWrite) onBusy()
        return pool.run({
          data: { ...this.#settings, path, isReadOnly, writers: use.writers.shared, job },
          signal: signal ? AbortSignal.any([closing, signal]) : closing,
          ...(onProgress && { onProgress })
        })
      })
    )
  }

  /**
   * A transaction that a user waits for.
   *
   * @template T
   * @param {import('./thread-job.js').ThreadJob} job - that commits once
   * @param {(result: T) => Promise<void> | void} publish
   * @returns {Promise<T>} when it is durable and published
   * @throws {import('../errors.js').MailError} as `run`; READ_ONLY, NOT_DURABLE
   */
  async write(job, publish) {
    this.#database.requireWritable()
    const result = /** @type {T} */ (await this.run(job))
    await this.#database.settle()
    this.#onCommit()
    await publish(result)
    return result
  }

  /**
   * As `run`, in a process of its own, which can be killed in the middle of a statement.
   *
   * @param {import('./thread-job.js').ThreadJob} job
   * @param {{ signal: AbortSignal, onStart?: (pid: number) => void }} options - `signal` kills it
   * @returns {Promise<unknown>}
   * @throws {import('../errors.js').MailError} as `run`
   */
  runInChild(job, { signal, onStart }) {
    const { path, isReadOnly } = this.#database
    const { key, ...settings } = this.#settings
    return this.#database.whileOpen(() =>
      this.#children.run(ONCE, {
        data: { ...settings, path, isReadOnly, job, hasOwnLock: true },
        key,
        ...(job.kind === 'vacuum' && { writtenFile: `${path}-wal` }),
        signal,
        ...(onStart && { onStart })
      })
    )
  }
}
