/**
 * Makes commits durable. With synchronous=NORMAL a commit in WAL mode is only in the page cache of the kernel; it
 * is acknowledged after an fdatasync of the `-wal` file, which runs in libuv's pool and is shared by all commits
 * that arrived while the one before was running (group commit).
 *
 *     COMMIT a ── sync 1 ─────────────► publish a, resolve a
 *        COMMIT b ──┐
 *        COMMIT c ──┴ waiting ───────── sync 2 ─────────────► publish b, resolve b, publish c, resolve c
 *
 * Only the `-wal` is opened here: it carries no POSIX locks, whereas closing a descriptor of the database itself
 * or of its `-shm` would drop every lock that SQLite holds on it in this process.
 */
import { close, closeSync, fdatasync, fdatasyncSync, fsync, open, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { MailError } from '../errors.js'
import { lacksDescriptors } from '../support/lacks-descriptors.js'
import { syncFolder } from '../support/write-file.js'
import { counters } from '../telemetry/counters.js'
import { OpenLog } from './open-log.js'
import { errorCodeOf } from './sqlite-error.js'

const openFile = promisify(open)
const closeFile = promisify(close)
const syncWhole = promisify(fsync)
const syncContents = promisify(fdatasync)

/**
 * At most so many tries to open the file and its folder while the process, or the machine, has no descriptor left, and the
 * pause between two tries, ms. Others close theirs soon, and to wait five seconds is better than to end all sessions.
 */
const OPEN_TRIES = 100
const OPEN_PAUSE_MS = 50

/**
 * @typedef {object} SyncCalls - the calls that reach the disk, replaceable to observe or to fail them
 * @property {(descriptor: number) => Promise<void>} syncFile - fdatasync
 * @property {(descriptor: number) => Promise<void>} syncFolder - fsync of the folder's descriptor
 */

/** @type {Readonly<SyncCalls>} */
const SYSTEM_CALLS = Object.freeze({ syncFile: syncContents, syncFolder: syncWhole })

/**
 * @typedef {object} Waiter
 * @property {() => void} onDurable
 * @property {() => void} resolve
 * @property {(error: unknown) => void} reject
 */

/**
 * Repeats `work` while no descriptor is left. Never repeats a failed sync: these codes come only from the opening before it.
 *
 * @template T
 * @param {() => Promise<T>} work - that opens something, and syncs it
 * @returns {Promise<T>}
 */
async function withDescriptor(work) {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!lacksDescriptors(error) || tries === OPEN_TRIES) throw error
    }
    await sleep(OPEN_PAUSE_MS)
  }
}

/**
 * Opens a file with the same tries, synchronously: for a thread, which has nothing else to do meanwhile.
 *
 * @param {string} path
 * @returns {number} a descriptor
 */
function openInThread(path) {
  const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
  for (let tries = 1; ; tries++) {
    try {
      return openSync(path, 'r')
    } catch (error) {
      if (!lacksDescriptors(error) || tries === OPEN_TRIES) throw error
    }
    Atomics.wait(never, 0, 0, OPEN_PAUSE_MS)
  }
}

/**
 * Syncs the commits of a thread, from that thread. Whoever reads them waits until they are on the disk: some ms for those of
 * one slice, and many for all that a thread writes meanwhile.
 *
 * @param {import('better-sqlite3-multiple-ciphers').Database} db - the thread's own
 * @throws {MailError} NOT_DURABLE, which the store treats like a failed sync of its own
 */
export function syncLog(db) {
  try {
    const descriptor = openInThread(`${db.name}-wal`)
    try {
      fdatasyncSync(descriptor)
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    throw new MailError('NOT_DURABLE', { detail: errorCodeOf(error), cause: error })
  }
}

/** The `-wal` file of one database, as far as durability goes. */
export class WalSync {
  #walPath
  #calls
  #onFailure
  #isInPlace
  #flags
  /** @type {number | null} */
  #descriptor = null
  /** @type {OpenLog | null} of the descriptor */
  #log = null
  /** @type {Waiter[]} */
  #waiting = []
  /** @type {Promise<void> | null} */
  #running = null
  /** @type {MailError | null} */
  #failure = null
  #isClosed = false

  /**
   * @param {object} options
   * @param {string} options.databasePath
   * @param {(error: MailError) => void} options.onFailure - called once, when a sync has failed; what is on the
   *   disk is then unknown, and the database must be closed and opened through recovery
   * @param {(known: { isLogUnmoved: boolean }) => boolean} [options.isInPlace] - whether what is synced can be found again,
   *   `isLogUnmoved`: of the `-wal` that is known; default: it can
   * @param {boolean} [options.isReadOnly] - whether nothing is written here; default false
   * @param {Partial<SyncCalls>} [options.calls]
   */
  constructor({ databasePath, onFailure, isInPlace = () => true, isReadOnly = false, calls = {} }) {
    this.#walPath = `${databasePath}-wal`
    this.#flags = isReadOnly ? 'r' : 'r+'
    this.#onFailure = onFailure
    this.#isInPlace = isInPlace
    this.#calls = { ...SYSTEM_CALLS, ...calls }
  }

  /**
   * @returns {number} size of the `-wal`, bytes, as of a sync not long ago, with the room that was made in it since: an upper
   *   bound of what a checkpoint may have to move
   */
  get walBytes() {
    return this.#log?.size ?? 0
  }

  /** @returns {boolean} whether commits are waiting to become durable */
  get isPending() {
    return this.#running !== null
  }

  /**
   * Waits until everything that was committed before this call is on the disk.
   *
   * @param {() => void} [onDurable] - called at that moment, in the order of the calls and before the promise
   *   resolves: the place to tell others about the change
   * @returns {Promise<void>}
   * @throws {MailError} NOT_DURABLE
   */
  sync(onDurable = () => {}) {
    if (this.#failure) return Promise.reject(this.#failure)
    const waited = /** @type {Promise<void>} */ (
      new Promise((resolve, reject) => this.#waiting.push({ onDurable, resolve, reject }))
    )
    this.#running ??= this.#run()
    return waited
  }

  /**
   * Where small commits make the file longer, gives it room for some more. To be called with the write lock of the database
   * held, see log-room.js.
   */
  makeRoom() {
    this.#log?.makeRoom()
  }

  /** Waits for a running sync, and closes the descriptor. */
  async close() {
    this.#isClosed = true
    await this.#running
    await this.letGo()
  }

  /**
   * Closes the descriptor; the next sync opens the file again. No commit may be pending.
   *
   * @returns {Promise<void>}
   */
  async letGo() {
    const descriptor = this.#descriptor
    this.#descriptor = this.#log = null
    if (descriptor !== null) await closeFile(descriptor)
  }

  async #run() {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting
      this.#waiting = []
      const startedMs = performance.now()
      try {
        await this.#syncOnce()
        counters.sync.duration.observeMs(performance.now() - startedMs)
        counters.sync.group.observe(batch.length)
      } catch (error) {
        this.#fail(error, batch)
        break
      }
      for (const waiter of batch) {
        try {
          waiter.onDurable()
          waiter.resolve()
        } catch (error) {
          waiter.reject(error)
        }
      }
    }
    this.#running = null
  }

  /**
   * Never tried again: after a failed fdatasync the kernel marks the pages clean, so that a second one would
   * succeed without having written anything.
   *
   * @param {unknown} cause
   * @param {Waiter[]} batch
   */
  #fail(cause, batch) {
    const failure = new MailError('NOT_DURABLE', { detail: errorCodeOf(cause), cause })
    this.#failure = failure
    counters.sync.failed++
    this.#onFailure(failure)
    for (const waiter of [...batch, ...this.#waiting]) waiter.reject(failure)
    this.#waiting = []
  }

  async #syncOnce() {
    const descriptor = this.#descriptor
    if (descriptor !== null && this.#log && (await this.#syncOpen(descriptor, this.#log))) return
    const followed = await this.#follow()
    if (followed !== null) await this.#calls.syncFile(followed)
    this.#requireInPlace({ isLogUnmoved: false })
  }

  /**
   * Syncs, and checks meanwhile that the descriptor is that of the right file: before or after the sync, the check would make
   * everybody wait.
   *
   * @param {number} descriptor
   * @param {OpenLog} log - of it
   * @returns {Promise<boolean>} false: this `-wal` has been removed, and commits are in another one
   */
  async #syncOpen(descriptor, log) {
    const syncing = this.#calls.syncFile(descriptor)
    try {
      const { isUnmoved } = log
      if ((log.countSync() || !isUnmoved) && !log.look()) return false
      this.#requireInPlace({ isLogUnmoved: isUnmoved })
      return true
    } finally {
      await syncing
    }
  }

  /**
   * @param {{ isLogUnmoved: boolean }} known
   * @throws {Error} where the synced file is not at its path any more
   */
  #requireInPlace(known) {
    if (!this.#isInPlace(known))
      throw Object.assign(new Error('The file is gone'), { code: 'ENOENT' })
  }

  /**
   * @returns {Promise<number | null>} the current `-wal`, opened; null when there is none, which means that the
   *   checkpoint that removed it has synced the database itself
   */
  async #follow() {
    await this.letGo()
    if (this.#isClosed) throw new MailError('SHUTTING_DOWN')
    try {
      this.#descriptor = await withDescriptor(() => openFile(this.#walPath, this.#flags))
    } catch (error) {
      if (errorCodeOf(error) === 'ENOENT') return null
      throw error
    }
    this.#log = new OpenLog(this.#descriptor)
    // SQLite would sync the folder at its own first sync of a new -wal, which NORMAL may never make.
    await withDescriptor(() => syncFolder(dirname(this.#walPath), this.#calls.syncFolder))
    return this.#descriptor
  }
}
