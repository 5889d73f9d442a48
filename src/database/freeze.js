/**
 * Keeps `mail.db` as it is while a backup copies it, without stopping the user: a held read mark 0 (freeze-thread.js)
 * lets all writes go on into the `-wal`, and lets no process move them into the database file. While the mark is held,
 * `mail.db` alone is the whole mailbox, as of the moment when the hold began.
 *
 * One thread serves all mailboxes of the process; checkpoints, and a last close with much to move, happen there.
 */
import { ServedThread } from './served-thread.js'

/**
 * @typedef {object} HoldRequest
 * @property {string} token - names the hold
 * @property {string} folder - the account's
 * @property {SharedArrayBuffer} key - 32 bytes, the owner's
 * @property {import('./setup-pragma.js').Cipher} cipher
 * @property {number} forMs - the hold ends by itself after so many ms, unless it is renewed
 *
 * @typedef {{ kind: 'hold', request: HoldRequest }
 *   | { kind: 'renew', token: string, forMs: number }
 *   | { kind: 'release', token: string }} FreezeJob
 */

/** Holds read marks for backups. */
export class Freezer {
  /** @type {ServedThread<FreezeJob, boolean>} */
  #thread = new ServedThread(new URL('freeze-thread.js', import.meta.url))

  /**
   * @param {HoldRequest} request - its key is read before this resolves, and not afterwards
   * @returns {Promise<void>} when `mail.db` is whole and will stay as it is
   * @throws {import('../errors.js').MailError} BUSY where readers or writers left no quiet moment; ACCOUNT_DAMAGED, DISK_FULL …
   */
  async hold(request) {
    await this.#thread.run({ kind: 'hold', request })
  }

  /**
   * @param {string} token
   * @param {number} forMs - from now on
   * @returns {Promise<boolean>} false where the hold has ended
   */
  async renew(token, forMs) {
    return this.#thread.isRunning && (await this.#thread.run({ kind: 'renew', token, forMs }))
  }

  /**
   * @param {string} token
   * @returns {Promise<boolean>} whether the mark was held without a break until now
   */
  async release(token) {
    return this.#thread.isRunning && (await this.#thread.run({ kind: 'release', token }))
  }

  /** Ends the thread, and with it all holds. */
  async close() {
    await this.#thread.close()
  }
}
