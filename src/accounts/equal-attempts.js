/**
 * Logins with the same name and the same password that are under way at once: the sessions of a mail program, or of all
 * devices of a household when a server comes back. The first of them is checked; the others wait for it, and if it was
 * right they are recognised as repeated, without an argon2 each.
 *
 * The answers tell nobody anything new: where the first was wrong, or the account is not known, each of the others is checked
 * by itself. Where the client of the first has gone before its check, the next becomes the first.
 */
import { randomBytes } from 'node:crypto'
import { attemptHash } from './attempt-hash.js'

/** The attempts that are under way in this process. */
export class EqualAttempts {
  #key = randomBytes(32)
  /**
   * The first attempt of each name and password: whether it was checked. Settles when it was, or when its client has gone.
   *
   * @type {Map<string, Promise<boolean>>}
   */
  #first = new Map()

  /**
   * @template T
   * @param {{ username: string, password: Uint8Array, asker: import('./argon2-queue.js').Asker | undefined }} attempt
   * @param {object} steps
   * @param {() => Promise<T | null>} steps.recognize - called once an equal attempt was checked; null: this one is to be
   *   checked itself
   * @param {() => Promise<T>} steps.check
   * @returns {Promise<T>}
   */
  async run({ username, password, asker }, { recognize, check }) {
    const hash = attemptHash(this.#key, username.toLowerCase(), password)
    for (let first = this.#first.get(hash); first; first = this.#first.get(hash)) {
      if (await first) return (await recognize()) ?? (await check())
    }
    const checking = check()
    const wasChecked = checking.then(
      () => true,
      // Any other error means that the first was checked; its own caller is told.
      (error) => error !== asker?.closeSignal.reason
    )
    this.#first.set(hash, wasChecked)
    try {
      return await checking
    } finally {
      this.#first.delete(hash)
    }
  }
}
