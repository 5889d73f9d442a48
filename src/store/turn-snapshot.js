/**
 * One snapshot for all that commands which came together read in one turn of the event loop. Taking SQLite's locks and looking
 * whether anybody has committed, once for each command, took a fifteenth of the time of reading a short message (measured).
 */
import { beginSnapshot, endSnapshot } from '../database/transaction.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Of one connection. */
export class TurnSnapshot {
  /** @type {Database | null} null: none is open */
  #db = null
  #isEndScheduled = false

  /**
   * @template T
   * @param {Database} db - in no transaction but this one
   * @param {(db: Database) => T} work - synchronous; reads alone
   * @param {boolean} moreFollow - whether more is about to be read in this turn: else nothing is begun for it
   * @returns {T}
   */
  read(db, work, moreFollow) {
    if (moreFollow && this.#db === null) this.#begin(db)
    try {
      return work(db)
    } catch (error) {
      // Whoever tries again does so on what is there then.
      this.end()
      throw error
    }
  }

  /** @param {Database} db */
  #begin(db) {
    beginSnapshot(db)
    this.#db = db
    if (this.#isEndScheduled) return
    this.#isEndScheduled = true
    setImmediate(() => {
      this.#isEndScheduled = false
      try {
        this.end()
      } catch {
        // Here it would end the process. Whoever uses the connection next meets the same trouble, where it can be told.
      }
    })
  }

  /** Ends it, if there is one. To be called before anything else is done with the connection. */
  end() {
    if (this.#db === null) return
    endSnapshot(this.#db)
    this.#db = null
  }
}
