/**
 * The connection of a thread, with the face that the readers of the store know. A thread may wait inside a statement,
 * and what it reads for a search was durable before it was asked.
 */
import { toMailError } from '../../database/sqlite-error.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Reads only: what a thread writes it writes by itself. */
export class ThreadDatabase {
  #db

  /** @param {Database} db - that waits for locks by itself */
  constructor(db) {
    this.#db = db
  }

  /**
   * @template T
   * @param {(db: Database) => T} work - synchronous
   * @returns {Promise<T>}
   * @throws {import('../../errors.js').MailError} as the store's own connection does
   */
  async readSettled(work) {
    try {
      return work(this.#db)
    } catch (error) {
      throw toMailError(error)
    }
  }
}
