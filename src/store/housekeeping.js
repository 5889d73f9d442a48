/**
 * What an open mailbox does beside its requests: checkpoints in the thread, the sweep, usage figures for
 * whoever keeps the quota.
 */
import { readUsage } from './mailbox-rows.js'
import { Sweeper } from './sweeper.js'
import { readWal } from './upkeep/space.js'

/**
 * @typedef {import('./account-database.js').AccountDatabase} AccountDatabase
 * @typedef {import('../database/checkpoint.js').Checkpointer} Checkpointer
 * @typedef {{ bytes: number, messages: number }} Usage
 */

/**
 * Frames that wait in the `-wal` before the thread moves them, bytes: each round syncs both files. What comes then is
 * written to the front of it again: to write into a file where it has been is synced in two thirds of the time that it
 * takes where the file grows (measured, ext4).
 */
export const CHECKPOINT_BYTES = 4 * 1024 * 1024

/** Where more than this waits, somebody reads all the time: the next round waits for that reader, bytes. */
const PATIENT_BYTES = 64 * 1024 * 1024

/** More than this is not moved by the close itself, which would hold up the event loop, bytes. */
const CLOSE_BYTES = 256 * 1024

/** Time between two looks at the `-wal` while commits come in, milliseconds. */
const LOOK_INTERVAL_MS = 50

/** Without a commit for this long a mailbox is idle, milliseconds. */
const IDLE_MS = 5000

/**
 * What could not be moved is tried again after this long, milliseconds: whoever stands in the way does so for minutes as a
 * rule, and each try may keep writers waiting for a moment.
 */
const RETRY_MS = 30_000

/** Usage is told within a second. */
const USAGE_DELAY_MS = 500

/** The timers of one open mailbox. */
export class Housekeeping {
  #database
  #checkpointer
  #sweeper
  #key
  #cipher
  #checkpointBytes
  #onUsage
  /** @type {NodeJS.Timeout | null} */
  #idleTimer = null
  /** @type {NodeJS.Timeout | null} */
  #usageTimer = null
  /**
   * What was told last, and how often others had been noticed to commit by then.
   *
   * @type {Usage & { foreignCommits: number } | null}
   */
  #told = null
  #lastCommitMs = 0
  #lastLookMs = 0
  /** @type {Promise<void> | null} */
  #checkpoint = null
  #isOptimized = false
  #isClosing = false

  /**
   * @param {object} options
   * @param {AccountDatabase} options.database
   * @param {Checkpointer} options.checkpointer
   * @param {import('./store-threads.js').StoreThreads} options.threads
   * @param {() => void} options.onSwept - much has been deleted
   * @param {SharedArrayBuffer} options.key
   * @param {import('../database/setup-pragma.js').Cipher} options.cipher
   * @param {number} options.checkpointBytes - what may wait in the `-wal`
   * @param {(usage: Usage) => void} options.onUsage
   */
  constructor({ database, checkpointer, threads, onSwept, key, cipher, checkpointBytes, onUsage }) {
    this.#checkpointBytes = checkpointBytes
    this.#database = database
    this.#checkpointer = checkpointer
    this.#sweeper = new Sweeper({
      database,
      threads,
      onSwept,
      onCommit: () => this.noteCommit()
    })
    this.#key = key
    this.#cipher = cipher
    this.#onUsage = onUsage
  }

  /** To be called after each commit; costs nothing but a look at the clock. */
  noteCommit() {
    if (this.#isClosing) return
    this.#lastCommitMs = performance.now()
    this.#idleTimer ??= this.#lookIn(IDLE_MS)
    this.#usageTimer ??= setTimeout(() => {
      this.#usageTimer = null
      this.#database.supervise(this.#tellUsage())
    }, USAGE_DELAY_MS).unref()
    if (this.#lastCommitMs - this.#lastLookMs < LOOK_INTERVAL_MS) return
    this.#lastLookMs = this.#lastCommitMs
    if (this.#database.walBytes < this.#checkpointBytes || this.#checkpoint) return
    const waitingBytes = this.#waitingBytes()
    if (waitingBytes < this.#checkpointBytes) return
    this.#startCheckpoint('RESTART', { mayWait: waitingBytes > PATIENT_BYTES })
  }

  /** To be called when something waits in the `-wal`, whoever has committed it: once the mailbox is idle it is moved. */
  noteRest() {
    if (this.#isClosing || this.#database.isReadOnly) return
    this.#idleTimer ??= this.#lookIn(IDLE_MS)
  }

  /** To be called when something may have become garbage; the sweep begins a moment later, between requests. */
  noteGarbage() {
    this.#sweeper.note()
  }

  /**
   * Runs the sweep to its end.
   *
   * @param {AbortSignal} [signal] - ends it after the slice that is under way
   * @returns {Promise<void>}
   */
  sweep(signal) {
    return this.#sweeper.run(signal)
  }

  /**
   * Moves the whole `-wal` into the file, as far as nobody stands in the way.
   *
   * @returns {Promise<void>}
   */
  async checkpoint() {
    await this.#checkpoint
    await this.#startCheckpoint('TRUNCATE')
  }

  /** Ends the timers; the sweep ends at its next slice. */
  stop() {
    this.#isClosing = true
    this.#sweeper.stop()
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    if (this.#usageTimer) clearTimeout(this.#usageTimer)
    this.#idleTimer = this.#usageTimer = null
  }

  /**
   * Ends the timers and the sweep, tells the usage a last time, and moves the `-wal` in the thread, so that closing the
   * last connection finds nothing left to do. The file is still open.
   */
  async close() {
    this.stop()
    await this.#sweeper.settled()
    await this.#checkpoint
    // All that could be told or moved has been before it fell asleep.
    if (this.#database.isAsleep) return
    await this.#tellUsage()
    if (!this.#database.isReadOnly && this.#waitingBytes() > CLOSE_BYTES)
      await this.#startCheckpoint('TRUNCATE')
  }

  /** @param {number} ms */
  #lookIn(ms) {
    return setTimeout(() => this.#database.supervise(this.#lookIdle()), ms).unref()
  }

  async #lookIdle() {
    this.#idleTimer = null
    const quietMs = performance.now() - this.#lastCommitMs
    if (quietMs < IDLE_MS) {
      this.#idleTimer = this.#lookIn(IDLE_MS - quietMs)
      return
    }
    if (this.#database.hasFailed || this.#isClosing) return
    this.noteGarbage()
    if (this.#isAllMoved) return
    await (this.#checkpoint ?? this.#startCheckpoint('TRUNCATE'))
    if (this.#database.hasFailed || this.#isClosing || this.#isAllMoved) return
    // A reader stood in the way, or a backup.
    this.#idleTimer ??= this.#lookIn(RETRY_MS)
  }

  /** @returns {boolean} whether nothing waits in the `-wal`: a file that sleeps has left nothing there */
  get #isAllMoved() {
    return this.#database.isAsleep || this.#waitingBytes() === 0
  }

  /** @returns {number} bytes of the `-wal` that are not in the database yet */
  #waitingBytes() {
    const { waiting, pageBytes } = readWal(this.#database.db)
    return waiting * pageBytes
  }

  /**
   * @param {'RESTART' | 'TRUNCATE'} mode
   * @param {{ mayWait?: boolean }} [options]
   * @returns {Promise<void>}
   */
  #startCheckpoint(mode, { mayWait = true } = {}) {
    const isIdle = mode === 'TRUNCATE'
    const withOptimize = isIdle && !this.#isOptimized && !this.#database.isReadOnly
    this.#isOptimized ||= isIdle
    const { path } = this.#database
    const job = { path, key: this.#key, cipher: this.#cipher, mode, mayWait, withOptimize }
    const running = this.#database
      .whileOpen(async () => {
        await this.#checkpointer.run(job)
      })
      .finally(() => {
        this.#checkpoint = null
      })
    this.#checkpoint = running.catch(() => {})
    this.#database.supervise(running)
    return this.#checkpoint
  }

  async #tellUsage() {
    const { foreignCommits, ...usage } = await this.#database.readSettled((db) => ({
      ...readUsage(db),
      foreignCommits: this.#database.countForeignCommits()
    }))
    const told = this.#told
    this.#told = { ...usage, foreignCommits }
    const isSame = told?.bytes === usage.bytes && told.messages === usage.messages
    // Another process may have told another figure since, and what it brought may have gone again.
    if (isSame && told.foreignCommits === foreignCommits) return
    this.#onUsage(usage)
  }
}
