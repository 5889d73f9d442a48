/**
 * Keeps `mail.db` as it is while a backup copies it, without stopping the user: a held read mark 0 (freeze-thread.js)
 * lets every write go on into the `-wal`, and lets no process move them into the database file. From the moment it is
 * held, `mail.db` alone is the whole mailbox, as it was then.
 *
 * One thread serves all mailboxes of the process; checkpoints, and a last close with much to move, happen there.
 */
import { Worker } from 'node:worker_threads'
import { MailError } from '../errors.js'
import { fromThreadFailure } from './thread.js'

/**
 * @typedef {object} HoldRequest
 * @property {string} token - names the hold
 * @property {string} folder - the account's
 * @property {SharedArrayBuffer} key - 32 bytes, the owner's
 * @property {import('./setup-pragma.js').Cipher} cipher
 * @property {number} forMs - ends by itself after this long, unless it is renewed
 *
 * @typedef {{ kind: 'hold', request: HoldRequest }
 *   | { kind: 'renew', token: string, forMs: number }
 *   | { kind: 'release', token: string }} FreezeJob
 */

/** Holds read marks for backups. */
export class Freezer {
  /** @type {Worker | null} */
  #worker = null
  /** @type {Map<number, { resolve: (result: boolean) => void, reject: (error: Error) => void }>} */
  #waiting = new Map()
  #lastId = 0
  #isClosed = false

  /**
   * @param {HoldRequest} request - its key is read before this resolves, and not afterwards
   * @returns {Promise<void>} when `mail.db` is whole and will stay as it is
   * @throws {MailError} BUSY where readers or writers left no moment for it; ACCOUNT_DAMAGED, DISK_FULL …
   */
  async hold(request) {
    await this.#run({ kind: 'hold', request })
  }

  /**
   * @param {string} token
   * @param {number} forMs - from now on
   * @returns {Promise<boolean>} false where the hold has ended
   */
  async renew(token, forMs) {
    return this.#worker !== null && (await this.#run({ kind: 'renew', token, forMs }))
  }

  /**
   * @param {string} token
   * @returns {Promise<boolean>} whether it was held without a break until now
   */
  async release(token) {
    return this.#worker !== null && (await this.#run({ kind: 'release', token }))
  }

  /** Ends the thread; what it held is free. */
  async close() {
    this.#isClosed = true
    await this.#worker?.terminate()
  }

  /**
   * @param {FreezeJob} job
   * @returns {Promise<boolean>}
   */
  #run(job) {
    if (this.#isClosed) return Promise.reject(new MailError('SHUTTING_DOWN'))
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#worker ??= this.#start()
      // Referenced only while somebody waits: an idle thread keeps no process alive.
      this.#worker.ref()
      this.#worker.postMessage({ id, job })
    })
  }

  /** @returns {Worker} */
  #start() {
    const worker = new Worker(new URL('freeze-thread.js', import.meta.url))
    worker.on('message', ({ id, result, failure }) => {
      const waiter = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) worker.unref()
      if (failure) waiter?.reject(fromThreadFailure(failure))
      else waiter?.resolve(result)
    })
    worker.on('error', (error) => this.#end(/** @type {Error} */ (error)))
    worker.on('exit', () => this.#end(new MailError('SHUTTING_DOWN')))
    return worker
  }

  /** @param {Error} error */
  #end(error) {
    this.#worker = null
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
