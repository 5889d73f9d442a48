/**
 * Counts attempts to log in, by name, by address, and by the two together: failures and successes, each remembered for a time.
 */

/** So many failures on a name cost no wait: people mistype. */
const FREE_NAME_FAILURES = 5
/** So many failures from an address cost no refusal: an office shares one address. */
const FREE_ADDRESS_FAILURES = 10
/** The first wait, ms; each further failure doubles it. */
const FIRST_WAIT_MS = 250
/** The longest wait, ms: below the patience of every mail client. */
const MAX_WAIT_MS = 5_000
/** The first refusal of an address, ms; each further failure doubles it. */
const FIRST_HOLD_MS = 1_000
/** The longest refusal of an address, ms. */
const MAX_HOLD_MS = 15 * 60_000
/** Failures are forgotten after so many ms without another. */
const FORGET_MS = 60 * 60_000
/** A name that was right from an address is remembered for so many ms, 30 days. */
export const REMEMBER_GOOD_MS = 30 * 24 * 60 * 60_000
/** A counter has at most so many entries, and as many of names that were right; about 200 bytes each, the oldest go first. */
const MAX_ENTRIES = 100_000
/** A worker that starts is told at most so many entries of each counter. */
const MAX_TOLD_ENTRIES = 20_000
/** At most so many wrong passwords are remembered for one name from one address. */
const MAX_FINGERPRINTS = 8

/**
 * @typedef {object} Tally
 * @property {number} failures
 * @property {number} pending - attempts that are being checked
 * @property {number} lastMs
 * @property {number} heldUntilMs
 * @property {number} goodUntilMs
 * @property {string[]} fingerprints - keyed hashes of wrong passwords, newest last
 *
 * @typedef {Pick<Tally, 'failures' | 'lastMs' | 'heldUntilMs' | 'goodUntilMs'>} ToldTally - what other workers are told of one
 */

/**
 * @param {number} failures
 * @param {number} free
 * @param {number} firstMs
 * @param {number} maxMs
 * @returns {number} ms
 */
function growing(failures, free, firstMs, maxMs) {
  const excess = failures - free
  return excess <= 0 ? 0 : Math.min(maxMs, firstMs * 2 ** Math.min(excess - 1, 30))
}

/** Counters that forget the least recently touched entry. */
export class Tallies {
  /** @type {Map<string, Tally>} */
  #entries = new Map()
  /**
   * Entries of a name that was right from an address. Nobody makes one without a right password, so that whoever tries names
   * by the hundred thousand pushes out none of them.
   *
   * @type {Map<string, Tally>}
   */
  #good = new Map()

  /**
   * @param {string} key
   * @param {number} nowMs
   * @returns {Tally}
   */
  touch(key, nowMs) {
    const entry = this.#good.get(key) ??
      this.#entries.get(key) ?? {
        failures: 0,
        pending: 0,
        lastMs: nowMs,
        heldUntilMs: 0,
        goodUntilMs: 0,
        fingerprints: []
      }
    // An entry that is dated later than now: the clock was set back since.
    entry.lastMs = Math.min(entry.lastMs, nowMs)
    // The fingerprints stay: a phone that was not told the new password tries the old one every hour, too.
    if (isForgotten(entry, nowMs)) entry.failures = 0
    this.#put(key, entry, nowMs)
    return entry
  }

  /**
   * @param {string} key
   * @param {Tally} entry - the newest from now on
   * @param {number} nowMs
   */
  #put(key, entry, nowMs) {
    this.#entries.delete(key)
    this.#good.delete(key)
    const entries = wasGoodAt(entry, nowMs) ? this.#good : this.#entries
    entries.set(key, entry)
    if (entries.size <= MAX_ENTRIES) return
    const [oldest] = entries.keys()
    if (oldest !== undefined) entries.delete(oldest)
  }

  /**
   * Notes that a login was right.
   *
   * @param {string} key
   * @param {number} nowMs
   * @returns {boolean} whether the other workers must be told: a login that repeats a good one is no news for a day
   */
  markGood(key, nowMs) {
    const entry = this.touch(key, nowMs)
    const goodMs = entry.goodUntilMs - nowMs
    const isKnown = goodMs >= REMEMBER_GOOD_MS - 24 * 60 * 60_000 && goodMs <= REMEMBER_GOOD_MS
    const isNews = entry.failures > 0 || !isKnown
    entry.goodUntilMs = nowMs + REMEMBER_GOOD_MS
    entry.failures = 0
    entry.fingerprints = []
    this.#put(key, entry, nowMs)
    return isNews
  }

  /**
   * Notes that a login from before this process was right.
   *
   * @param {string} key
   * @param {{ atMs: number, nowMs: number }} time
   */
  rememberGood(key, { atMs, nowMs }) {
    const entry = this.touch(key, nowMs)
    entry.goodUntilMs = Math.max(entry.goodUntilMs, atMs + REMEMBER_GOOD_MS)
    this.#put(key, entry, nowMs)
  }

  /**
   * @param {string} key
   * @param {ToldTally} told - by another worker; a larger count that is known here stays
   * @param {number} nowMs
   */
  merge(key, told, nowMs) {
    const own = this.touch(key, nowMs)
    own.heldUntilMs = Math.max(own.heldUntilMs, told.heldUntilMs)
    own.goodUntilMs = Math.max(own.goodUntilMs, told.goodUntilMs)
    this.#put(key, own, nowMs)
    if (told.failures === 0 || isForgotten(told, nowMs)) return
    own.lastMs = own.failures > 0 ? Math.max(own.lastMs, told.lastMs) : told.lastMs
    own.failures = Math.max(own.failures, told.failures)
  }

  /** @returns {[string, ToldTally][]} entries that were right, and of the others those touched last that count anything */
  latest() {
    const told = [...this.#entries, ...this.#good]
      .filter(([, { failures, goodUntilMs }]) => failures > 0 || goodUntilMs > 0)
      .slice(-MAX_TOLD_ENTRIES)
    return told.map(([key, { failures, lastMs, heldUntilMs, goodUntilMs }]) => [
      key,
      { failures, lastMs, heldUntilMs, goodUntilMs }
    ])
  }
}

/**
 * @param {ToldTally} tally
 * @param {number} nowMs
 * @returns {boolean} whether the tally's failures count no longer
 */
const isForgotten = ({ lastMs }, nowMs) => nowMs - lastMs > FORGET_MS

/**
 * @param {number} failures - on a name; or of the name from an address, where it was right before
 * @returns {number} how long the next attempt waits, ms
 */
export function nameWaitMs(failures) {
  return growing(failures, FREE_NAME_FAILURES - 1, FIRST_WAIT_MS, MAX_WAIT_MS)
}

/**
 * @param {Tally} pair
 * @param {number} nowMs
 * @returns {boolean} whether the name was right from that address, not too long ago
 */
export function wasGoodAt(pair, nowMs) {
  const goodMs = pair.goodUntilMs - nowMs
  return goodMs > 0 && goodMs <= REMEMBER_GOOD_MS
}

/**
 * @param {Tally} address
 * @param {number} nowMs
 * @returns {boolean} whether the address is refused for now
 */
export function isHeld(address, nowMs) {
  const heldMs = address.heldUntilMs - nowMs
  // Held for longer than the longest refusal: the clock was set back since.
  return heldMs > 0 && heldMs <= MAX_HOLD_MS
}

/**
 * @param {Tally} address
 * @returns {boolean} whether so many attempts are under way that the address would be held if they failed
 */
export function isFull({ pending, failures }) {
  return pending > 0 && failures + pending > FREE_ADDRESS_FAILURES
}

/**
 * If one password comes many times side by side and the first is wrong, each of the others is checked; if the first is right,
 * they need no check.
 *
 * @param {Tally} pair
 * @param {{ fingerprint: string, alike: number }} attempt - `alike`: with the same password, under way
 * @returns {boolean} whether this password was wrong before, or the name is wrong, or may be, more often than people mistype
 */
export const isWrongAgain = ({ failures, pending, fingerprints }, { fingerprint, alike }) =>
  fingerprints.includes(fingerprint) ||
  (alike > 0 ? alike : failures + pending) >= FREE_NAME_FAILURES

/**
 * @param {{ name: Tally, address: Tally, pair: Tally, fingerprint: string, nowMs: number }} failure
 * @returns {boolean} whether the failure counts: the same wrong password again does not
 */
export function countFailure({ name, address, pair, fingerprint, nowMs }) {
  if (pair.fingerprints.includes(fingerprint)) return false
  pair.fingerprints = [...pair.fingerprints.slice(1 - MAX_FINGERPRINTS), fingerprint]
  for (const tally of [name, address, pair]) {
    tally.failures++
    tally.lastMs = nowMs
  }
  address.heldUntilMs =
    nowMs + growing(address.failures, FREE_ADDRESS_FAILURES - 1, FIRST_HOLD_MS, MAX_HOLD_MS)
  return true
}
