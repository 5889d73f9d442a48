/**
 * Passwords of one name, from one place, that are asked for where a right one is not remembered: each costs a derivation, and
 * whoever knows the password could fill the queue of them (argon2-queue.js) by asking for the same again and again. So they
 * are checked one after the other.
 */
import { MailError } from '../errors.js'
import { addressKey } from '../support/address-key.js'

/** Of one name and place. */
const MAX_WAITING = 100

/** Keeps the turns of this process. */
export class PasswordTurns {
  /** @type {Map<string, (() => void)[]>} those who wait, by name and place; there is an entry as long as one is at work */
  #waiting = new Map()

  /**
   * @template T
   * @param {{ username: string, remoteAddress: string | null }} from - the name as typed: whether it is anybody's does not show
   * @param {(turn: { hasWaited: boolean }) => Promise<T>} work
   * @returns {Promise<T>}
   * @throws {MailError} THROTTLED where too many wait already; what `work` throws
   */
  async run({ username, remoteAddress }, work) {
    const key = `${addressKey(remoteAddress ?? '')} ${username.toLowerCase()}`
    const others = this.#waiting.get(key)
    const hasWaited = others !== undefined
    if (!hasWaited) this.#waiting.set(key, [])
    else {
      if (others.length >= MAX_WAITING)
        throw new MailError('THROTTLED', { detail: 'passwords of one name that wait' })
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
