/**
 * Looks after the mailboxes that are open in this process: when one is quiet, and before its key is dropped.
 *
 *     opened ─► … quiet for a while ─► due jobs ─► … ─► last session gone, linger over ─► due jobs ─► closed
 *
 * Invariants: at most `maintenance.concurrency` mailboxes at a time; a run ends at its next step when the mailbox is
 * needed for something else (its close, a login while it was about to close, the end of the process); no job waits for
 * a user, and none of its slices keeps one waiting.
 */
import { setImmediate } from 'node:timers/promises'
import PQueue from 'p-queue'
import { MailError } from '../errors.js'
import { planAlone } from './alone.js'
import { runJobs } from './run-jobs.js'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 *
 * @typedef {object} Tracked
 * @property {Account} account
 * @property {AccountStore} store
 * @property {number} seenWrites - of the store when the last run ended; -1 before the first
 * @property {number} lookAgainAtMs - by the monotonic clock, also if nobody has written: timed jobs fall due
 * @property {AbortController | null} run - that waits or is under way
 * @property {Promise<void>} ended - settles when that run has
 *
 * @typedef {object} WorkerFigures - since the start of the process
 * @property {number} maintenanceRunning - mailboxes
 * @property {number} maintenanceWaiting - mailboxes
 * @property {number} maintenanceDone - jobs
 * @property {number} maintenanceSkipped
 * @property {number} maintenanceStopped
 * @property {number} maintenanceFailed
 */

/** Time between two looks at the open mailboxes, ms: a look is a comparison of numbers for each. */
const LOOK_INTERVAL_MS = 5000

/** For so many mailboxes at once, the directory is asked whether an operator wants them maintained: a millisecond at most. */
const REQUEST_SLICE = 100

/** Even where nobody writes, jobs that are due by the clock are looked for this often, ms. */
const LOOK_AGAIN_MS = 60 * 60 * 1000

/** A run gives up after so many ms; jobs that it has not come to are due at the next occasion. */
const MAX_RUN_MS = 30 * 60 * 1000

/** The worker of a process. */
export class MaintenanceWorker {
  #services
  #resources
  #settings
  #queue
  #timer
  /** @type {Map<string, Tracked>} */
  #tracked = new Map()
  /** @type {Map<string, AbortController>} */
  #alone = new Map()
  #counts = { done: 0, skipped: 0, stopped: 0, failed: 0 }
  #isLooking = false
  #isClosed = false

  /**
   * @param {object} options
   * @param {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'config' | 'logger'>} options.services
   * @param {import('./resources.js').Resources} options.resources
   */
  constructor({ services, resources }) {
    this.#services = services
    this.#resources = resources
    this.#settings = services.config.maintenance
    this.#queue = new PQueue({ concurrency: this.#settings.concurrency })
    this.#timer = setInterval(() => this.#look(), LOOK_INTERVAL_MS)
    this.#timer.unref()
  }

  /** @returns {WorkerFigures} */
  get figures() {
    const { done, skipped, stopped, failed } = this.#counts
    return {
      maintenanceRunning: this.#queue.pending,
      maintenanceWaiting: this.#queue.size,
      maintenanceDone: done,
      maintenanceSkipped: skipped,
      maintenanceStopped: stopped,
      maintenanceFailed: failed
    }
  }

  /**
   * Takes a mailbox that was opened into care, until `leave`.
   *
   * @param {Account} account
   * @param {AccountStore} store
   */
  join(account, store) {
    if (this.#isClosed || !this.#settings.enabled || store.isReadOnly) return
    this.#tracked.set(account.id, {
      account,
      store,
      seenWrites: -1,
      lookAgainAtMs: 0,
      run: null,
      ended: Promise.resolve()
    })
  }

  /**
   * The last chance before the mailbox is closed: runs what is due, for as long as the configuration allows.
   *
   * @param {string} accountId
   * @returns {Promise<void>} when that is done, or `need` or `leave` has ended it
   */
  async beforeClose(accountId) {
    const tracked = this.#tracked.get(accountId)
    const { closeBudgetMs } = this.#settings
    if (!tracked || closeBudgetMs === 0) return
    const isUnchanged = tracked.seenWrites === tracked.store.upkeep.writeCount
    if (isUnchanged && performance.now() < tracked.lookAgainAtMs) return
    if (tracked.run === null) this.#enqueue(tracked)
    // The time counts from now on, also while the run waits for its turn behind other mailboxes.
    const timer = setTimeout(() => tracked.run?.abort(), closeBudgetMs).unref()
    await tracked.ended
    clearTimeout(timer)
  }

  /**
   * To be called when somebody has come back to a mailbox that was about to be closed: ends its run.
   *
   * @param {string} accountId
   */
  need(accountId) {
    this.#tracked.get(accountId)?.run?.abort()
    this.#alone.get(accountId)?.abort()
  }

  /**
   * To be called when the store is about to be closed.
   *
   * @param {string} accountId
   * @returns {Promise<(() => Promise<void>) | null>} when the worker no longer uses the store: work that needs the file alone,
   *   to be called once the store is closed; null for none
   */
  async leave(accountId) {
    const tracked = this.#tracked.get(accountId)
    this.#tracked.delete(accountId)
    if (!tracked) return null
    tracked.run?.abort()
    // From now on, so that whoever comes back while the mailbox is being closed does not wait for that work either.
    const stop = new AbortController()
    this.#alone.set(accountId, stop)
    await tracked.ended
    const work = await this.#plan(tracked)
    if (work === null) {
      this.#alone.delete(accountId)
      return null
    }
    return () => work(stop.signal).finally(() => this.#alone.delete(accountId))
  }

  /** Ends what is under way. */
  async close() {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const stop of this.#alone.values()) stop.abort()
    await Promise.all([...this.#tracked.keys()].map((accountId) => this.leave(accountId)))
  }

  /**
   * @param {Tracked} tracked
   * @returns {Promise<((signal: AbortSignal) => Promise<void>) | null>}
   */
  async #plan({ account, store }) {
    if (this.#isClosed || store.hasFailed) return null
    const services = this.#services
    try {
      return await planAlone({ services, account, store, resources: this.#resources })
    } catch (err) {
      // The mailbox is closed all the same, and its next closing brings another try.
      services.logger.error({ accountId: account.id, err }, 'maintenance could not look for work')
      return null
    }
  }

  async #look() {
    if (this.#isLooking || this.#isClosed) return
    this.#isLooking = true
    try {
      /** @type {Tracked[]} */
      const idle = []
      for (const tracked of this.#tracked.values()) {
        if (!this.#isQuiet(tracked)) continue
        if (this.#hasOccasion(tracked)) this.#enqueue(tracked)
        else idle.push(tracked)
      }
      for (let from = 0; from < idle.length; from += REQUEST_SLICE)
        await this.#lookForRequests(idle.slice(from, from + REQUEST_SLICE))
    } catch (err) {
      this.#services.logger.error({ err }, 'maintenance could not look for work')
    } finally {
      this.#isLooking = false
    }
  }

  /**
   * @param {Tracked} tracked
   * @returns {boolean} whether a run may begin
   */
  #isQuiet({ run, store }) {
    return run === null && !store.hasFailed && store.upkeep.quietMs >= this.#settings.quietMs
  }

  /**
   * @param {Tracked} tracked
   * @returns {boolean} whether there may be something to do
   */
  #hasOccasion({ store, seenWrites, lookAgainAtMs }) {
    return seenWrites !== store.upkeep.writeCount || performance.now() >= lookAgainAtMs
  }

  /** @param {Tracked[]} idle */
  async #lookForRequests(idle) {
    await setImmediate()
    const ids = idle.map(({ account }) => account.id)
    const requests = await this.#services.directory.listMaintenanceRequests(ids)
    for (const tracked of idle) {
      const { id } = tracked.account
      // It may have been closed meanwhile.
      if (requests.has(id) && this.#tracked.get(id) === tracked && this.#isQuiet(tracked))
        this.#enqueue(tracked)
    }
  }

  /** @param {Tracked} tracked */
  #enqueue(tracked) {
    const run = new AbortController()
    tracked.run = run
    // Not `run` itself: once the run has begun, the queue would take it for over at its abort, while it goes on to its next step.
    const waiting = new AbortController()
    const takeBack = () => waiting.abort()
    run.signal.addEventListener('abort', takeBack, { once: true })
    const begin = () => {
      run.signal.removeEventListener('abort', takeBack)
      return this.#run(tracked, AbortSignal.any([run.signal, AbortSignal.timeout(MAX_RUN_MS)]))
    }
    tracked.ended = this.#queue
      .add(begin, { signal: waiting.signal })
      .catch((err) => {
        // The run was taken back while it waited, or the store was closed under it.
        if (run.signal.aborted || err instanceof MailError) return
        this.#services.logger.error({ accountId: tracked.account.id, err }, 'maintenance failed')
      })
      .finally(() => {
        tracked.run = null
      })
  }

  /**
   * @param {Tracked} tracked
   * @param {AbortSignal} signal
   */
  async #run(tracked, signal) {
    const { account, store } = tracked
    const services = this.#services
    // A mailbox that needs nothing is done within a millisecond; of hundreds that become quiet together each has its turn.
    await setImmediate()
    const runs = await runJobs({ services, account, store, resources: this.#resources, signal })
    for (const { job, result, note, tookMs } of runs) {
      this.#counts[result]++
      services.logger.debug(
        { accountId: account.id, job, result, note, tookMs: Math.round(tookMs) },
        'maintenance'
      )
    }
    // A run that was cut short leaves `seenWrites` as it was, and so is gone on with even if nobody writes until then.
    if (signal.aborted) return
    tracked.seenWrites = store.upkeep.writeCount
    tracked.lookAgainAtMs = performance.now() + LOOK_AGAIN_MS
  }
}
