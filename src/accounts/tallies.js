/**
 * What is counted of attempts to log in, by name, by address, and by the two together: failures, successes, and how long
 * they are remembered.
 */

/** Failures on a name that cost nothing: people mistype. */
const FREE_NAME_FAILURES = 5
/** Failures from an address that cost nothing; an office shares one. */
const FREE_ADDRESS_FAILURES = 10
/** The first wait, ms; each further failure doubles it. */
const FIRST_WAIT_MS = 250
/** The longest wait, ms: below the patience of every mail client. */
const MAX_WAIT_MS = 5_000
/** The first refusal of an address, ms; each further failure doubles it. */
const FIRST_HOLD_MS = 1_000
/** The longest refusal of an address, ms. */
const MAX_HOLD_MS = 15 * 60_000
/** Failures are forgotten after this long without another, ms. */
const FORGET_MS = 60 * 60_000
/** A name that was right from an address is remembered for this long, ms. */
export const REMEMBER_GOOD_MS = 30 * 24 * 60 * 60_000
/** Entries of each counter, and as many of names that were right from an address; the oldest go first. About 200 bytes each. */
const MAX_ENTRIES = 100_000
/** Entries of each counter that a worker which starts is told. */
const MAX_TOLD_ENTRIES = 20_000
/** Wrong passwords remembered for one name from one address. */
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
   * Those of a name that was right from an address. Nobody makes one without a right password, so that whoever tries names
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
    // Of a time that is yet to come: the clock was set back since.
    entry.lastMs = Math.min(entry.lastMs, nowMs)
    // What was wrong stays known: a phone that was not told the new password tries the old one every hour, too.
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
   * The login was right.
   *
   * @param {string} key
   * @param {number} nowMs
   * @returns {boolean} whether that says something new: of a login that repeats a good one nobody need hear for a day
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
   * A login of the time before was right.
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
   * @param {ToldTally} told - by another worker; what is known here stays where it is more
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

  /** @returns {[string, ToldTally][]} those that were good, and of the others those touched last, that say something */
  latest() {
    const told = [...this.#entries, ...this.#good]
      .slice(-MAX_TOLD_ENTRIES)
      .filter(([, { failures, goodUntilMs }]) => failures > 0 || goodUntilMs > 0)
    return told.map(([key, { failures, lastMs, heldUntilMs, goodUntilMs }]) => [
      key,
      { failures, lastMs, heldUntilMs, goodUntilMs }
    ])
  }
}

/**
 * @param {ToldTally} tally
 * @param {number} nowMs
 * @returns {boolean} whether its failures count no longer
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
 * @returns {boolean} whether it is refused for now
 */
export function isHeld(address, nowMs) {
  const heldMs = address.heldUntilMs - nowMs
  // Longer than anything is held: the clock was set back since.
  return heldMs > 0 && heldMs <= MAX_HOLD_MS
}

/**
 * @param {Tally} address
 * @returns {boolean} whether so many attempts are under way that it would be held if they failed
 */
export function isFull({ pending, failures }) {
  return pending > 0 && failures + pending > FREE_ADDRESS_FAILURES
}

/**
 * Of one password that comes many times side by side each is checked where the first was wrong; where that was right, the
 * others need no check.
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
 * @returns {boolean} whether it counts: the same wrong password again does not
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
