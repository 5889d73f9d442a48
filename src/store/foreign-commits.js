/**
 * Whether other connections have committed to a file, as SQLite's data_version tells one of them.
 */
import { prepared } from '../database/statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** What one connection knows of the commits of all others. */
export class ForeignCommits {
  #dataVersion = 0
  #hasNews = false
  /** How often commits of theirs were noticed. */
  count = 0
  /** Whether there may be frames of theirs that are not on the disk yet; whoever syncs the file says that there are none. */
  isUnsynced = true

  /**
   * @param {Database} db - opened a moment ago
   * @param {object} [options]
   * @param {boolean} [options.isAgain] - it was closed for a while: the versions of two connections say nothing about each
   *   other, so that others may have committed between them
   */
  begin(db, { isAgain = false } = {}) {
    this.#dataVersion = readDataVersion(db)
    this.isUnsynced = true
    this.#hasNews = isAgain
    if (isAgain) this.count++
  }

  /**
   * @param {Database} db
   * @returns {boolean} whether any of them has committed since this was last asked
   */
  notice(db) {
    const version = readDataVersion(db)
    if (version === this.#dataVersion) return false
    this.#dataVersion = version
    this.isUnsynced = true
    this.#hasNews = true
    this.count++
    return true
  }

  /** @returns {boolean} whether `takeNews` has something to say */
  get hasNews() {
    return this.#hasNews
  }

  /** @returns {boolean} whether any of them may have committed, and nobody was told by this yet */
  takeNews() {
    const hasNews = this.#hasNews
    this.#hasNews = false
    return hasNews
  }
}

/**
 * @param {Database} db
 * @returns {number}
 */
function readDataVersion(db) {
  return /** @type {number} */ (prepared(db, 'PRAGMA data_version', 'value').get())
}
