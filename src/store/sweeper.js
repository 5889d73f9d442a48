/**
 * When the sweep runs, and where: little of it in slices on the event loop, much of it in a thread, and that of all the
 * mailboxes of the process in turns.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import PQueue from 'p-queue'
import { LoopLoad } from '../support/loop-load.js'
import { hasGarbage, isMuchGarbage, leaveAbandoned, sweepSlice } from './garbage.js'
import { keptForMs } from './left-contents.js'
import { StopSign } from './upkeep/stop-sign.js'

/** The sweep lets the commands that follow a deletion go first, milliseconds … */
const DELAY_MS = 1000

/**
 * … and whoever else is at work, for so long at most. Reading messages one by one while eight users' deletions were swept
 * away, one of a hundred took 5 ms instead of 1.5 (two cores, measured).
 */
const MAX_DELAY_MS = 60_000

/** Between two slices on the event loop, of some 5 ms, everybody else has so long, milliseconds: nine tenths. */
const PAUSE_MS = 45

/**
 * When fifty users empty a folder in the same second, fifty sweeps must not share the event loop, nor start fifty
 * threads: a start costs as much as sweeping away some fifty messages.
 */
const sliceTurns = new PQueue({ concurrency: 1 })
const threadTurns = new PQueue({ concurrency: 2 })

/** The sweep of one open mailbox. */
export class Sweeper {
  #database
  #threads
  #onSwept
  #onCommit
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** When it was first noted what the timer is for, monotonic ms. */
  #notedMs = 0
  /** @type {NodeJS.Timeout | null} */
  #keptTimer = null
  #load = new LoopLoad()
  /** @type {Promise<void> | null} */
  #running = null
  #end = new AbortController()

  /**
   * @param {object} options
   * @param {import('./account-database.js').AccountDatabase} options.database
   * @param {import('./store-threads.js').StoreThreads} options.threads
   * @param {() => void} options.onSwept - much has been deleted
   * @param {() => void} options.onCommit - the thread has committed, and that is on the disk
   */
  constructor({ database, threads, onSwept, onCommit }) {
    this.#database = database
    this.#threads = threads
    this.#onSwept = onSwept
    this.#onCommit = onCommit
  }

  /** To be called when something may have become garbage; the sweep begins a moment later, between requests. */
  note() {
    if (this.#database.isReadOnly || this.#running || this.#end.signal.aborted) return
    if (this.#timer !== null) return
    this.#notedMs = performance.now()
    this.#wait()
  }

  #wait() {
    this.#load.begin()
    this.#timer = setTimeout(() => this.#start(), DELAY_MS).unref()
  }

  #start() {
    this.#timer = null
    if (this.#database.hasFailed || this.#running || this.#end.signal.aborted) return
    const mayWait = performance.now() - this.#notedMs < MAX_DELAY_MS
    if (this.#load.isBusy && mayWait) {
      this.#wait()
      return
    }
    this.#running = this.#sweep().finally(() => {
      this.#running = null
    })
    this.#database.supervise(this.#running)
  }

  /**
   * Sweeps to the end.
   *
   * @param {AbortSignal} [signal] - ends it after the slice that is under way
   * @returns {Promise<void>}
   */
  async run(signal) {
    await this.#running
    if (!signal?.aborted) await this.#sweep(signal)
  }

  /** No sweep begins any more, and one that is under way ends after its slice. */
  stop() {
    this.#end.abort()
    if (this.#timer) clearTimeout(this.#timer)
    if (this.#keptTimer) clearTimeout(this.#keptTimer)
    this.#timer = this.#keptTimer = null
  }

  /** @returns {Promise<void>} when what `note` began is over, however it ended */
  async settled() {
    await this.#running?.catch(() => {})
  }

  /** @param {AbortSignal} [signal] */
  async #sweep(signal) {
    await this.#sweepDue(signal)
    const { clock } = this.#database
    const keptMs = await this.#database.readSettled((db) => keptForMs(db, clock.nowMs()))
    if (keptMs === null || this.#keptTimer !== null || this.#end.signal.aborted) return
    this.#keptTimer = setTimeout(() => {
      this.#keptTimer = null
      this.note()
    }, keptMs).unref()
  }

  /** @param {AbortSignal} [signal] */
  async #sweepDue(signal) {
    const end = signal ? AbortSignal.any([signal, this.#end.signal]) : this.#end.signal
    const { clock } = this.#database
    if (!(await this.#database.readSettled((db) => hasGarbage(db, clock.nowMs())))) return
    await this.#write((db) => leaveAbandoned(db, clock.nowMs()))
    const isMuch = await this.#database.readSettled((db) => isMuchGarbage(db, clock.nowMs()))
    let work = Promise.resolve()
    const begin = () => (work = isMuch ? this.#inThread(end) : this.#inSlices(end))
    try {
      await (isMuch ? threadTurns : sliceTurns).add(begin, { signal: end })
    } catch (error) {
      if (!end.aborted) throw error
    }
    // The queue does not wait for what it ends; whoever closes the file must.
    await work
  }

  /** @param {AbortSignal} end */
  async #inSlices(end) {
    const { clock } = this.#database
    while (!end.aborted && (await this.#write((db) => sweepSlice(db, clock.nowMs()))))
      await sleep(PAUSE_MS)
  }

  /** @param {AbortSignal} end */
  async #inThread(end) {
    const sign = new StopSign([end, this.#database.closing])
    /** @type {Promise<void>} */
    let settling = Promise.resolve()
    const onProgress = () => {
      // The sync tells how large the -wal is, and the checkpoints follow from that.
      settling = this.#database.settle().then(this.#onCommit, () => {})
    }
    try {
      const { shared } = sign
      const nowMs = this.#database.clock.nowMs()
      const job = { kind: /** @type {const} */ ('sweep'), shared, nowMs }
      await this.#threads.run(job, { onProgress })
      onProgress()
      await settling
      this.#onSwept()
    } finally {
      sign.end()
    }
  }

  /**
   * @template T
   * @param {(db: import('better-sqlite3-multiple-ciphers').Database) => T} work
   * @returns {Promise<T>}
   */
  #write(work) {
    return this.#database.write(work, { isLazy: true })
  }
}
