/**
 * Which logins are on record already, where a program that comes back every minute would fill the audit log: the first of
 * each credential from each address within a day is enough to know who was there.
 */
import { addressKey } from '../support/address-key.js'

/** How long one login stands for those like it, ms. */
const STANDS_MS = 24 * 60 * 60_000
/** Of these the oldest go first; about 150 bytes each. */
const MAX_LOGINS = 20_000

/** Those that this process has seen. */
export class RecentLogins {
  /** @type {Map<string, number>} when they were noted, the oldest first */
  #notedAtMs = new Map()

  /**
   * @param {{ credentialId: string, remoteAddress: string | null }} login
   * @param {number} nowMs
   * @returns {boolean} whether none like it stands for it
   */
  isNew({ credentialId, remoteAddress }, nowMs) {
    const agoMs = nowMs - (this.#notedAtMs.get(keyOf(credentialId, remoteAddress)) ?? -Infinity)
    // Of a time that is yet to come: the clock was set back since.
    return agoMs < 0 || agoMs >= STANDS_MS
  }

  /**
   * @param {{ credentialId: string, remoteAddress: string | null }} login - that is put on record now
   * @param {number} nowMs
   */
  note({ credentialId, remoteAddress }, nowMs) {
    const key = keyOf(credentialId, remoteAddress)
    this.#notedAtMs.delete(key)
    this.#notedAtMs.set(key, nowMs)
    if (this.#notedAtMs.size <= MAX_LOGINS) return
    const [oldest] = this.#notedAtMs.keys()
    if (oldest !== undefined) this.#notedAtMs.delete(oldest)
  }
}

/**
 * @param {string} credentialId
 * @param {string | null} remoteAddress
 * @returns {string}
 */
const keyOf = (credentialId, remoteAddress) => `${credentialId} ${addressKey(remoteAddress ?? '')}`
