/**
 * The one connection to directory.db that the directory's parts share.
 *
 * The server's event loop must not wait inside SQLite for another process, so the busy timeout is 0, and a statement that
 * finds the file locked is tried again from here.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { MailError, isMailError } from '../errors.js'
import { openPlainDatabase } from '../database/open.js'
import { migrate, pendingMigrations, readMigrations } from '../database/migrate.js'
import { requireReadableLog } from '../database/readable-log.js'
import { toMailError } from '../database/sqlite-error.js'
import { runThread } from '../database/thread.js'
import { retryWhileBusy, runTransaction } from '../database/transaction.js'

const MIGRATIONS = new URL('../../migrations/directory/', import.meta.url)

/** A statement waits at most so many ms for another process; none holds the lock for long. */
const BUSY_TIMEOUT_MS = 10_000
/** A truncation waits at most so many ms for readers of other processes; then it is left for later. */
const TRUNCATE_TIMEOUT_MS = 2_000
const TRUNCATE_PAUSE_MS = 20
/**
 * The log is truncated once in so many ms anyhow: a process that was killed, or that ended before a reader did, has left keys
 * in the log that it had erased. A truncation takes 5 to 20 ms where the log has anything in it (measured).
 */
const TIDY_INTERVAL_MS = 60_000

/**
 * @typedef {object} Statement - rows are `any`: their shape is the SQL's, and directory-rows.js names it
 * @property {(...values: any[]) => { changes: number }} run
 * @property {(...values: any[]) => any} get
 * @property {(...values: any[]) => any[]} all
 */

/** Carries a MailError out of a transaction: a BUSY that `work` throws is not a lock to wait for. */
class Decision extends Error {}

/**
 * @template T
 * @param {() => T} work
 * @returns {T}
 */
function decided(work) {
  try {
    return work()
  } catch (cause) {
    throw cause instanceof MailError ? new Decision('decided', { cause }) : cause
  }
}

/** SQLite's codes for a file whose bytes are not what was written. */
const DAMAGE = /^SQLITE_(CORRUPT|NOTADB|IOERR)/

/**
 * Where the directory is damaged, no mailbox is: the error must not send anybody to look for damage in one.
 *
 * @param {unknown} error
 * @returns {unknown}
 */
function asDirectoryError(error) {
  if (!isMailError(error, 'ACCOUNT_DAMAGED') || !DAMAGE.test(error.detail ?? '')) return error
  return new MailError('DIRECTORY_DAMAGED', {
    detail: `directory.db: ${error.detail}; mailboxes are not concerned: put a sound one in its place (docs/backup.md, “The directory alone”)`,
    cause: error
  })
}

/**
 * For whoever only looks, beside a server that may be of an older version: opening the directory would migrate it.
 *
 * @param {string} path - of directory.db, which must exist
 * @returns {boolean} whether the file has the schema of this program
 * @throws {MailError} FILE_TOO_NEW, SCHEMA_MISMATCH, DIRECTORY_DAMAGED, BUSY
 */
export function isMigrated(path) {
  try {
    const db = openPlainDatabase(path, { isReadOnly: true })
    try {
      return pendingMigrations(db, readMigrations(MIGRATIONS)).length === 0
    } finally {
      db.close()
    }
  } catch (error) {
    throw asDirectoryError(toMailError(error))
  }
}

/** Reads, writes and erases in transactions; knows no table. */
export class DirectoryConnection {
  /** @type {Map<string, Statement>} */
  #statements = new Map()
  #owesTruncation = false
  #tidying

  /**
   * @param {object} options
   * @param {string} options.path
   * @param {import('../support/clock.js').Clock} options.clock
   * @param {import('../telemetry/logger.js').Logger} options.logger
   */
  constructor({ path, clock, logger }) {
    this.clock = clock
    this.logger = logger
    // Opening and migrating may wait for another process that does the same: nobody is served yet.
    this.db = this.#open(path)
    try {
      migrate(this.db, readMigrations(MIGRATIONS), { clock })
      this.db.pragma('busy_timeout = 0')
    } catch (error) {
      this.db.close()
      throw asDirectoryError(toMailError(error))
    }
    this.#tidying = setInterval(() => this.#tryTruncate(), TIDY_INTERVAL_MS)
    this.#tidying.unref()
  }

  /** @param {string} path */
  #open(path) {
    try {
      return openPlainDatabase(path, { timeoutMs: BUSY_TIMEOUT_MS })
    } catch (error) {
      throw asDirectoryError(error)
    }
  }

  /**
   * @param {string} sql
   * @returns {Statement} prepared once
   */
  prepare(sql) {
    let statement = this.#statements.get(sql)
    if (!statement) {
      statement = /** @type {Statement} */ (this.db.prepare(sql))
      this.#statements.set(sql, statement)
    }
    return statement
  }

  /**
   * @template T
   * @param {() => T} work - synchronous
   * @returns {Promise<T>}
   * @throws {MailError} DIRECTORY_DAMAGED, BUSY after the timeout, and what `work` throws
   */
  async read(work) {
    try {
      return await retryWhileBusy(work, { busyTimeoutMs: BUSY_TIMEOUT_MS })
    } catch (error) {
      throw asDirectoryError(error)
    }
  }

  /**
   * @template T
   * @param {() => T} work - synchronous; all of it happens or nothing
   * @returns {Promise<T>}
   * @throws {MailError} DIRECTORY_DAMAGED, BUSY after the timeout, and what `work` throws
   */
  async write(work) {
    try {
      return await retryWhileBusy(() => runTransaction(this.db, () => decided(work)), {
        busyTimeoutMs: BUSY_TIMEOUT_MS
      })
    } catch (error) {
      throw error instanceof Decision ? error.cause : asDirectoryError(error)
    }
  }

  /**
   * A write that removes wrapped keys: secure_delete zeroes them in the file, and truncating the
   * write-ahead log removes the copies there.
   *
   * @template T
   * @param {() => T} work
   * @returns {Promise<T>}
   */
  async erase(work) {
    const result = await this.write(work)
    this.#owesTruncation = true
    if (!(await this.#truncateSoon()))
      this.logger.warn(
        'directory: another process keeps the log from being truncated: erased keys stay in directory.db-wal until a minute after it lets go, without a server until the last process closes the directory'
      )
    return result
  }

  /** Truncates the write-ahead log if an erasure still needs that, and if it is possible at this moment. */
  settleTruncation() {
    if (this.#owesTruncation) this.#tryTruncate()
  }

  /**
   * Readers of other processes can postpone it.
   *
   * @returns {Promise<boolean>} false where one has kept the log from being truncated until the timeout
   */
  async #truncateSoon() {
    const startedMs = performance.now()
    while (this.db.open && !this.#tryTruncate()) {
      if (performance.now() - startedMs >= TRUNCATE_TIMEOUT_MS) return false
      await sleep(TRUNCATE_PAUSE_MS)
    }
    return true
  }

  /**
   * A failure, for instance because the disk is full, is only logged: the commit before it stands all the same.
   *
   * @returns {boolean} false where a reader keeps the log; true where waiting is of no use: the log is truncated, or cannot be
   */
  #tryTruncate() {
    try {
      requireReadableLog(this.db.name)
      const [result] = /** @type {{ busy: number }[]} */ (
        this.db.pragma('wal_checkpoint(TRUNCATE)')
      )
      if (result?.busy !== 0) return false
      this.#owesTruncation = false
    } catch (err) {
      this.logger.error(
        { err },
        'directory: the log cannot be truncated: erased keys stay in directory.db-wal; a server tries again each minute'
      )
    }
    return true
  }

  /** @returns {Promise<import('./directory-port.js').DirectoryCheck>} */
  async quickCheck() {
    const module = new URL('directory-check-thread.js', import.meta.url)
    return /** @type {import('./directory-port.js').DirectoryCheck} */ (
      await runThread(module, { data: { path: this.db.name } })
    )
  }

  /** The last close checkpoints and removes the log. A log that cannot be read is left to the next start; the file stays open. */
  close() {
    clearInterval(this.#tidying)
    try {
      requireReadableLog(this.db.name)
    } catch (err) {
      this.logger.error({ err }, 'directory: the log cannot be read; it is left as it is')
      return
    }
    this.db.close()
  }
}
