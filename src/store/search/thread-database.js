/**
 * The connection of a thread, with the face that the readers of the store know. A thread may wait inside a statement,
 * and what it reads for a search was durable before it was asked.
 */
import { MailError } from '../../errors.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Reads only: what a thread writes it writes by itself. */
export class ThreadDatabase {
  isReadOnly = true
  #db

  /** @param {Database} db - that waits for locks by itself */
  constructor(db) {
    this.#db = db
  }

  /**
   * @template T
   * @param {(db: Database) => T} work - synchronous
   * @returns {Promise<T>}
   */
  readSettled(work) {
    return new Promise((resolve) => resolve(work(this.#db)))
  }

  /** @returns {Promise<never>} */
  write() {
    return Promise.reject(new MailError('READ_ONLY'))
  }
}
