/**
 * The open file of one account, which may sleep: closed until the next read or write, so that its descriptors, its page
 * cache and its compiled statements go. The account's key, lock and views stay.
 */
import { statSync } from 'node:fs'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** SQLite's handle, or none for a while. */
export class OpenHandle {
  /** @type {Database | null} */
  #db
  #path
  #reopen
  #onWake
  #onClose
  /** @type {Promise<void> | null} */
  #waking = null
  /** Which files lay at its path and its log's when it was opened. */
  #inodes
  /** What the file looked like when it went to sleep. */
  #traceAsleep = { file: '', log: '' }

  /**
   * @param {object} options
   * @param {Database} options.db
   * @param {string} options.path - of the file
   * @param {() => Database} options.reopen - opens the file once more, as `db` was
   * @param {(db: Database) => void} options.onWake - the file is open again, and nobody has read it yet
   * @param {(db: Database) => void} options.onClose - and is about to be closed
   */
  constructor({ db, path, reopen, onWake, onClose }) {
    this.#db = db
    this.#path = path
    this.#reopen = reopen
    this.#onWake = onWake
    this.#onClose = onClose
    this.#inodes = inodesAt(path)
  }

  /**
   * @returns {Database}
   * @throws {Error} while it sleeps, and once it is closed
   */
  get db() {
    if (this.#db === null) throw new Error('The file is not open')
    return this.#db
  }

  /** @returns {boolean} */
  get isAsleep() {
    return this.#db === null
  }

  /**
   * Nobody but SQLite may remove or replace the open files, and SQLite does not. If somebody does all the same, what is
   * written afterwards is lost with the last descriptor.
   *
   * @param {{ isLogUnmoved: boolean }} known - `isLogUnmoved`: the log need not be looked at
   * @returns {boolean} whether the open files still lie at their paths, where what is written can be found later
   */
  isInPlace({ isLogUnmoved }) {
    const { file, log } = this.#inodes
    if (inodeAt(this.#path) !== file) return false
    return isLogUnmoved || log === undefined || inodeAt(`${this.#path}-wal`) === log
  }

  /** @returns {boolean} whether another process has written while the file slept */
  get hasChangedAsleep() {
    if (!this.isAsleep) return false
    const { file, log } = this.#trace()
    // A log that is gone was removed by the last close, mostly our own: what was in it is in the file.
    return file !== this.#traceAsleep.file || (log !== '' && log !== this.#traceAsleep.log)
  }

  /**
   * Closes the file; nothing may be under way in it. Does nothing when it sleeps.
   *
   * @param {(db: Database) => void} lookLast - takes note of what others have committed: whatever they commit after it
   *   shows in the file
   */
  sleep(lookLast) {
    if (this.#db === null) return
    this.#traceAsleep = this.#trace()
    lookLast(this.#db)
    this.close()
  }

  /** Closes the file, if it is open. */
  close() {
    const db = this.#db
    if (db === null) return
    this.#db = null
    try {
      this.#onClose(db)
    } finally {
      db.close()
    }
  }

  /**
   * Opens the file again, once for all who ask for it meanwhile.
   *
   * @param {(open: () => void) => Promise<void>} retry - calls it until the file is not locked
   * @returns {Promise<void>}
   */
  wake(retry) {
    this.#waking ??= retry(() => {
      const db = this.#reopen()
      try {
        // Before `#db` is set: whoever comes at the same moment takes an open file for one that has been looked at.
        this.#onWake(db)
      } catch (error) {
        db.close()
        throw error
      }
      this.#inodes = inodesAt(this.#path)
      this.#db = db
    }).finally(() => {
      this.#waking = null
    })
    return this.#waking
  }

  /** @returns {{ file: string, log: string }} of which one changes when anybody writes */
  #trace() {
    return { file: traceOf(this.#path), log: traceOf(`${this.#path}-wal`) }
  }
}

/**
 * @param {string} path
 * @returns {string} empty where nothing is there
 */
function traceOf(path) {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat && stat.size > 0 ? `${stat.ino} ${stat.size} ${stat.mtimeMs}` : ''
}

/**
 * @param {string} path - of a database
 * @returns {{ file: number | undefined, log: number | undefined }}
 */
const inodesAt = (path) => ({ file: inodeAt(path), log: inodeAt(`${path}-wal`) })

/**
 * @param {string} path
 * @returns {number | undefined} undefined where nothing is there
 */
const inodeAt = (path) => statSync(path, { throwIfNoEntry: false })?.ino
