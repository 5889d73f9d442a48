/**
 * One account's open file, as the parts of the store use it: reads, write transactions, durability.
 *
 * Invariants: nothing is awaited inside a transaction but `readTogether`'s, which all else ends first; a write's result is
 * told to anybody (`onDurable`, the promise) only after its frames are on the disk; a read waits for the sync of what it may
 * have seen.
 */
import { MailError, isMailError } from '../errors.js'
import { mailFile } from '../database/database-files.js'
import { WalSync } from '../database/durability.js'
import { retryWhileBusy, runTransaction } from '../database/transaction.js'
import { FileTrouble } from './file-trouble.js'
import { FileUse } from './file-use.js'
import { ForeignCommits } from './foreign-commits.js'
import { OpenHandle } from './open-handle.js'
import { forgetReservedIds } from './reserved-ids.js'
import { TurnSnapshot } from './turn-snapshot.js'
import { readWal } from './upkeep/space.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../support/clock.js').Clock} Clock
 * @typedef {import('./supervise.js').Alert} Alert
 */

/**
 * @template T - what the transaction gives
 * @typedef {object} WriteOptions
 * @property {(result: T) => Promise<void> | void} [onDurable] - publishes the change; in the order of the commits
 * @property {boolean} [isLazy] - resolve after COMMIT; all others are still told only after the sync
 * @property {(result: T) => boolean} [isChange] - false: nothing was written, so nobody is told, and the promise waits only
 *   until what was read is durable
 * @property {boolean} [isDerived] - resolve after COMMIT and ask for no sync: what is written can be made again
 */

/** The handle and what guards it. */
export class AccountDatabase {
  #durability
  #handle
  #turnSnapshot = new TurnSnapshot()
  #foreign = new ForeignCommits()
  #busyTimeoutMs
  #trouble
  #onCommit
  #onRest
  #abort = new AbortController()
  /** Aborted when nobody is to wait for a taken lock any longer. */
  #patience = new AbortController()
  use = new FileUse()

  /**
   * @param {object} options
   * @param {Database} options.db
   * @param {string} options.folder - the account's folder
   * @param {boolean} options.isReadOnly
   * @param {Clock} options.clock
   * @param {number} options.busyTimeoutMs - how long a taken lock is waited for
   * @param {(alert: Alert) => void} options.onAlert - something that an operator must look at
   * @param {() => void} options.onFailure - called once, after the alert, when the file must be closed
   * @param {() => void} options.onCommit - after each sync of own commits
   * @param {() => Database} options.reopen - opens the file once more, as `db` was
   * @param {(db: Database) => void} [options.onOpen] - the file is open, from the start or again
   * @param {(db: Database) => void} [options.onClose] - and is about to be closed
   * @param {() => void} [options.onRest] - it cannot sleep, because something waits in the `-wal`
   * @param {Partial<import('../database/durability.js').SyncCalls>} [options.syncCalls]
   */
  constructor({
    db,
    folder,
    isReadOnly,
    clock,
    busyTimeoutMs,
    onAlert,
    onFailure,
    onCommit,
    reopen,
    onOpen = () => {},
    onClose = () => {},
    onRest = () => {},
    syncCalls
  }) {
    this.folder = folder
    this.path = mailFile(folder)
    this.isReadOnly = isReadOnly
    this.clock = clock
    this.#busyTimeoutMs = busyTimeoutMs
    this.#trouble = new FileTrouble({ onAlert, onFailure })
    this.#onCommit = onCommit
    this.#onRest = onRest
    this.#durability = new WalSync({
      databasePath: this.path,
      onFailure: (error) => this.#trouble.fail(error),
      isInPlace: (known) => this.#handle.isInPlace(known),
      isReadOnly,
      ...(syncCalls && { calls: syncCalls })
    })
    const onWake = (/** @type {Database} */ again) => {
      this.#foreign.begin(again, { isAgain: true })
      onOpen(again)
    }
    this.#handle = new OpenHandle({ db, path: this.path, reopen, onWake, onClose })
    this.#foreign.begin(db)
    onOpen(db)
  }

  /** @returns {Database} in no transaction, for work inside `read`, `write` and their like: only these wake a file that sleeps */
  get db() {
    this.#turnSnapshot.end()
    return this.#handle.db
  }

  /** @returns {boolean} whether the file is closed until somebody reads or writes */
  get isAsleep() {
    return this.#handle.isAsleep
  }

  /** @returns {boolean} whether another process has written while the file slept */
  get hasChangedAsleep() {
    return this.#handle.hasChangedAsleep
  }

  /** @returns {number} how long ago it was last read or written here, milliseconds; 0 while that is under way */
  get idleMs() {
    return this.use.idleMs
  }

  /**
   * Closes the file until the next read or write, if nothing is under way and nothing waits in the `-wal`.
   *
   * @returns {Promise<boolean>} whether it sleeps now
   */
  async sleep() {
    if (this.isAsleep) return true
    if (this.use.isActive || this.hasFailed || this.closing.aborted) return false
    if (this.#durability.isPending) return false
    if (readWal(this.db).waiting > 0) {
      // It may be another process's: then no commit of our own has set a time for moving it.
      this.#onRest()
      return false
    }
    // The connection that is opened next cannot tell that anybody has committed before it.
    this.#handle.sleep(() => this.#noticeForeignCommits())
    await this.#durability.letGo()
    return true
  }

  /** @returns {Promise<void>} */
  async #wake() {
    await this.#handle.wake((open) => this.#retry(open))
  }

  /** @returns {boolean} whether a failure has closed the file */
  get hasFailed() {
    return this.#trouble.failure !== null
  }

  /** @returns {number} size of the `-wal`, bytes, as of a sync not long ago */
  get walBytes() {
    return this.#durability.walBytes
  }

  /**
   * Reads, and waits until what was read is durable.
   *
   * @template T
   * @param {(db: Database) => T} work - synchronous
   * @param {(result: T) => boolean} [isNews] - whether there is anything in it that is not known to be durable already:
   *   most of what threads of our own commit changes nothing that anybody is told, and then nobody waits for the disk
   * @returns {Promise<T>}
   */
  read(work, isNews = () => true) {
    return this.#guarded(async () => {
      const result = await this.#retry(() => work(this.db))
      if (isNews(result)) await this.#settleSeen()
      return result
    })
  }

  /** Waits until what may just have been seen is durable. */
  async #settleSeen() {
    this.#noticeForeignCommits()
    if (this.#durability.isPending || this.#foreign.isUnsynced) await this.#sync()
  }

  /**
   * Reads what can only be older than what the caller knows to be durable already: rows of a message that is in
   * a view, chunks of its content.
   *
   * @template T
   * @param {(db: Database) => T} work - synchronous
   * @returns {Promise<T>}
   */
  readSettled(work) {
    return this.#guarded(() => this.#retry(() => work(this.db)))
  }

  /**
   * As `readSettled`, but all such reads in one turn of the event loop see the same snapshot. Whoever misses something that
   * may have come only just now looks once more, with `readSettled`.
   *
   * @template T
   * @param {(db: Database) => T} work - synchronous; maybe in a transaction
   * @param {boolean} moreFollow - whether others are about to read
   * @returns {Promise<T>}
   */
  readTogether(work, moreFollow) {
    const read = () => this.#turnSnapshot.read(this.#handle.db, work, moreFollow)
    return this.#guarded(() => this.#retry(read))
  }

  /**
   * Runs one write transaction.
   *
   * @template T
   * @param {(db: Database) => T} work - synchronous; may run again from the start when the file was locked
   * @param {WriteOptions<T>} [options]
   * @returns {Promise<T>} when the change is durable and published
   * @throws {MailError} READ_ONLY, BUSY, DISK_FULL, NOT_DURABLE, ACCOUNT_DAMAGED
   */
  write(work, options = {}) {
    const { isLazy = false, isDerived = false } = options
    return this.#guarded(async () => {
      this.requireWritable()
      this.use.announceWrite()
      const { result, settled } = await this.use.writers
        .watch((onBusy) => this.#retry(() => this.#commit(work, options), onBusy))
        .catch((error) => {
          if (isMailError(error, 'ACCOUNT_DAMAGED')) this.#trouble.fail(error)
          throw error
        })
      if (settled === null) {
        if (!isDerived && !isLazy) await this.#settleSeen()
      } else if (!isLazy) await settled
      // A lazy write's failure reaches the operator and every later call through the failed file itself.
      else this.supervise(settled.catch((error) => Promise.reject(this.#trouble.report(error))))
      return result
    })
  }

  /**
   * Asks for the sync at once: whoever reads before the writer goes on must find that what he sees is not on the disk yet.
   *
   * @template T
   * @param {(db: Database) => T} work
   * @param {WriteOptions<T>} options
   * @returns {{ result: T, settled: Promise<void> | null }} `settled`: when it is durable and published; null: no sync
   */
  #commit(work, { onDurable, isDerived = false, isChange = () => true }) {
    const result = this.#transact(work)
    if (isDerived || !isChange(result)) return { result, settled: null }
    /** @type {Promise<void> | void} */
    let published
    const synced = this.#durability.sync(() => {
      published = onDurable?.(result)
      this.#onCommit()
    })
    return { result, settled: synced.then(() => published) }
  }

  /**
   * @template T
   * @param {(db: Database) => T} work
   * @returns {T}
   */
  #transact(work) {
    try {
      return runTransaction(this.db, () => {
        this.#durability.makeRoom()
        return work(this.db)
      })
    } catch (error) {
      forgetReservedIds(this.db)
      throw error
    }
  }

  /** @throws {MailError} READ_ONLY */
  requireWritable() {
    if (this.isReadOnly) throw new MailError('READ_ONLY')
  }

  /** Waits until everything that is visible now is durable. */
  settle() {
    return this.#guarded(() => this.#sync())
  }

  /** @returns {boolean} whether another connection is known to have committed since `takeForeignNews` was last asked */
  get hasForeignNews() {
    return this.#foreign.hasNews
  }

  /**
   * @returns {number} how often others were noticed to have committed, up to now: where it is what it was, what was told of the
   *   file before is the last that anybody has
   */
  countForeignCommits() {
    this.#noticeForeignCommits()
    return this.#foreign.count
  }

  /**
   * Looks, which does not count as use: a file that sleeps goes on sleeping while nobody has written.
   *
   * @returns {Promise<boolean>} whether another connection may have committed since this was last asked
   */
  async takeForeignNews() {
    if (this.isAsleep && !this.hasChangedAsleep && !this.#foreign.hasNews) return false
    const look = () => {
      this.#noticeForeignCommits()
      return this.#foreign.takeNews()
    }
    return await this.use.unnoticed(() => this.readSettled(look))
  }

  /**
   * Keeps the file open until `work` is over: a job in a thread, a checkpoint.
   *
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  whileOpen(work) {
    return this.#guarded(work)
  }

  /** @param {Promise<unknown>} work - on it that nobody waits for */
  supervise(work) {
    this.#trouble.supervise(work)
  }

  /** @returns {AbortSignal} aborted when the file is being closed */
  get closing() {
    return this.#abort.signal
  }

  /**
   * To be called when the file will be closed soon: what finds it locked from now on, and what waits for a lock already,
   * fails with SHUTTING_DOWN. All else goes on.
   */
  stopWaiting() {
    this.#patience.abort()
  }

  /** Waits for what is under way and closes the file. */
  async close() {
    this.#abort.abort(new MailError('SHUTTING_DOWN'))
    this.stopWaiting()
    await this.use.over()
    await this.#durability.close()
    this.#turnSnapshot.end()
    this.#handle.close()
  }

  #noticeForeignCommits() {
    if (this.#foreign.notice(this.db)) this.use.noteWrite()
  }

  async #sync() {
    this.#foreign.isUnsynced = false
    await this.#durability.sync()
  }

  /**
   * @template T
   * @param {() => T} work
   * @param {() => void} [onBusy]
   * @returns {Promise<T>}
   */
  #retry(work, onBusy) {
    return retryWhileBusy(work, {
      busyTimeoutMs: this.#busyTimeoutMs,
      signal: this.#patience.signal,
      ...(onBusy && { onBusy })
    })
  }

  /**
   * @template T
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  async #guarded(work) {
    if (this.#trouble.failure) throw this.#trouble.failure
    if (this.#abort.signal.aborted) throw new MailError('SHUTTING_DOWN')
    this.use.begin()
    try {
      if (this.isAsleep) await this.#wake()
      return await work()
    } catch (error) {
      throw this.#trouble.report(error)
    } finally {
      this.use.end()
    }
  }
}
