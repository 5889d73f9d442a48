/**
 * The same password of the same name, from one place, that is asked for again and again where a right one is not remembered:
 * each costs a derivation, and whoever knows it could fill the queue of them (argon2-queue.js). So these are checked one after
 * the other. Those of others wait for none of it: who guesses must not keep the owner out.
 */
import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { addressKey } from '../support/address-key.js'
import { nameOf } from './address.js'
import { attemptHash } from './attempt-hash.js'

/** @typedef {import('./argon2-queue.js').Standing} Standing */

/** Of one password, name and place. */
const MAX_WAITING = 100

/** Keeps the turns of this process. */
export class PasswordTurns {
  #key = randomBytes(32)
  #defaultDomain
  /** @type {Map<string, (() => void)[]>} those who wait, by what is asked; there is an entry as long as one is at work */
  #waiting = new Map()

  /** @param {{ defaultDomain?: string }} [options] - of names that have none */
  constructor({ defaultDomain } = {}) {
    this.#defaultDomain = defaultDomain
  }

  /**
   * @template T
   * @param {{ username: string, password: Uint8Array, remoteAddress: string | null }} from - the name is not looked up: whether it
   *   is anybody's does not show
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
 * @param {Standing} standing - of who asks
 * @returns {Standing} in that turn: whoever keeps himself waiting keeps nobody else
 */
export const standingIn = ({ hasWaited }, standing) =>
  hasWaited && standing === 'known' ? 'stranger' : standing
