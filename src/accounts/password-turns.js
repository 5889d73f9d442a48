/**
 * Attempts with the same name and password from one place, where a right password is not remembered: each costs a derivation,
 * and whoever knows the password could fill the queue of them (argon2-queue.js). So equal attempts are checked one after the
 * other. All others wait for none of these: whoever guesses must not keep the owner out.
 */
import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { addressKey } from '../support/address-key.js'
import { nameOf } from './address.js'
import { attemptHash } from './attempt-hash.js'

/** @typedef {import('./argon2-queue.js').Standing} Standing */

/** At most so many attempts with one password, name and place wait. */
const MAX_WAITING = 100

/** Keeps the turns of this process. */
export class PasswordTurns {
  #key = randomBytes(32)
  #defaultDomain
  /** @type {Map<string, (() => void)[]>} waiters by the hash of an attempt, which has an entry as long as one like it is checked */
  #waiting = new Map()

  /** @param {{ defaultDomain?: string }} [options] - of names that have none */
  constructor({ defaultDomain } = {}) {
    this.#defaultDomain = defaultDomain
  }

  /**
   * @template T
   * @param {{ username: string, password: Uint8Array, remoteAddress: string | null }} from - the name is not looked up: whether
   *   it has an account does not show
   * @param {(turn: { hasWaited: boolean }) => Promise<T>} work
   * @returns {Promise<T>}
   * @throws {MailError} THROTTLED where too many wait already; what `work` throws
   */
  async run({ username, password, remoteAddress }, work) {
    const name = nameOf(username, { defaultDomain: this.#defaultDomain })
    const key = attemptHash(this.#key, `${addressKey(remoteAddress ?? '')} ${name}`, password)
    const others = this.#waiting.get(key)
    const hasWaited = others !== undefined
    if (!hasWaited) this.#waiting.set(key, [])
    else {
      if (others.length >= MAX_WAITING)
        throw new MailError('THROTTLED', { detail: 'equal logins that wait' })
      await new Promise((resolve) => others.push(() => resolve(null)))
    }
    try {
      return await work({ hasWaited })
    } finally {
      const next = this.#waiting.get(key)?.shift()
      if (next) next()
      else this.#waiting.delete(key)
    }
  }
}

/**
 * @param {{ hasWaited: boolean }} turn
 * @param {Standing} standing - of the asker
 * @returns {Standing} of that turn: whoever has waited for an attempt like their own must keep nobody else waiting
 */
export const standingIn = ({ hasWaited }, standing) =>
  hasWaited && standing === 'known' ? 'stranger' : standing
