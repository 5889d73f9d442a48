/**
 * Remembers which logins are on record already: a program that comes back every minute would fill the audit log, and the first
 * login of each credential from each address within a day is enough to know who was there.
 */
import { addressKey } from '../support/address-key.js'

/** One login stands for those like it for so many ms. */
const STANDS_MS = 24 * 60 * 60_000
/** At most so many logins are remembered, of about 150 bytes each; the oldest go first. */
const MAX_LOGINS = 20_000

/** The logins that this process has put on record. */
export class RecentLogins {
  /** @type {Map<string, number>} when they were noted, the oldest first */
  #notedAtMs = new Map()

  /**
   * @param {{ credentialId: string, remoteAddress: string | null }} login
   * @param {number} nowMs
   * @returns {boolean} whether no earlier login stands for this one
   */
  isNew({ credentialId, remoteAddress }, nowMs) {
    const agoMs = nowMs - (this.#notedAtMs.get(keyOf(credentialId, remoteAddress)) ?? -Infinity)
    // A login that is dated later than now: the clock was set back since.
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
