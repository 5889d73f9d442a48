/**
 * Slows guessing down without ever keeping the owner out.
 *
 * Three counters, none of which knows whether an account exists:
 * - the name, however it is written: failures from anywhere make each attempt on it wait, at most a few
 *   seconds. It is a wait and never a refusal, so a crowd of strangers cannot lock a name;
 * - the address (IPv6 by /64): after a few failures it is refused for a growing time;
 * - the name from that address: where it has been right before, neither of the two above applies, only
 *   its own wait. So neither a neighbour behind the same router nor a stranger elsewhere keeps the owner
 *   out.
 *
 * Attempts that are still being checked count as failures until they are over, so that a burst in
 * parallel gains nothing. The same wrong password again is not counted: it is a phone that has not been
 * told the new one, and it learns nothing.
 *
 * Of several workers each counts what it sees and tells the others (`onChange`, `note`), so that guessing through all of
 * them gains nothing; one that starts begins with what the others know (`state`, `adopt`).
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { addressKey } from '../support/address-key.js'
import { AddressList } from '../support/address-list.js'
import { nameOf } from './address.js'

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
const REMEMBER_GOOD_MS = 30 * 24 * 60 * 60_000
/** Entries of each counter; the oldest go first. About 200 bytes each. */
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
 */

/**
 * @typedef {object} ThrottleChange - plain data, without a name or a password
 * @property {string} nameKey
 * @property {string} place - an address key
 * @property {string | null} fingerprint - of a wrong password; null: the login was good
 *
 * @typedef {Record<'names' | 'addresses' | 'pairs', [string, Pick<Tally, 'failures' | 'lastMs' | 'heldUntilMs' | 'goodUntilMs'>][]>} ThrottleState
 */

/**
 * @typedef {object} Attempt - `waitMs` is to be waited before checking; then exactly one of the three is called
 * @property {number} waitMs
 * @property {boolean} isKnown - whether the name was right from that address before
 * @property {() => void} succeed
 * @property {() => void} fail
 * @property {() => void} cancel - nothing was checked
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
class Tallies {
  /** @type {Map<string, Tally>} */
  #entries = new Map()

  /**
   * @param {string} key
   * @param {number} nowMs
   * @returns {Tally}
   */
  touch(key, nowMs) {
    const entry = this.#entries.get(key) ?? {
      failures: 0,
      pending: 0,
      lastMs: nowMs,
      heldUntilMs: 0,
      goodUntilMs: 0,
      fingerprints: []
    }
    // Of a time that is yet to come: the clock was set back since.
    entry.lastMs = Math.min(entry.lastMs, nowMs)
    if (nowMs - entry.lastMs > FORGET_MS) {
      entry.failures = 0
      entry.fingerprints = []
    }
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    if (this.#entries.size > MAX_ENTRIES) {
      const [oldest] = this.#entries.keys()
      if (oldest !== undefined) this.#entries.delete(oldest)
    }
    return entry
  }

  /** @returns {ThrottleState['names']} those touched last, that say something */
  latest() {
    const told = [...this.#entries]
      .slice(-MAX_TOLD_ENTRIES)
      .filter(([, { failures, goodUntilMs }]) => failures > 0 || goodUntilMs > 0)
    return told.map(([key, { failures, lastMs, heldUntilMs, goodUntilMs }]) => [
      key,
      { failures, lastMs, heldUntilMs, goodUntilMs }
    ])
  }
}

/** Counts failures and says how long the next attempt waits. */
export class Throttle {
  #clock
  #exempt
  #defaultDomain
  #names = new Tallies()
  #addresses = new Tallies()
  #pairs = new Tallies()
  #fingerprintKey
  /**
   * Told of each change that was not noted from elsewhere.
   *
   * @type {((change: ThrottleChange) => void) | null}
   */
  onChange = null

  /**
   * @param {object} options
   * @param {import('../support/clock.js').Clock} options.clock
   * @param {Uint8Array} [options.fingerprintKey] - the same in all workers; without it, fingerprints of wrong passwords mean
   *   nothing outside this process
   * @param {string[]} [options.exemptAddresses] - not counted at all, single addresses or CIDR blocks
   * @param {string} [options.defaultDomain] - of names without a domain
   */
  constructor({
    clock,
    fingerprintKey = randomBytes(32),
    exemptAddresses = ['127.0.0.1', '::1'],
    defaultDomain
  }) {
    this.#clock = clock
    this.#defaultDomain = defaultDomain
    this.#fingerprintKey = fingerprintKey
    this.#exempt = new AddressList(exemptAddresses, 'limits.exemptAddresses')
  }

  /**
   * @param {string | null} remoteAddress
   * @returns {boolean}
   */
  #isExempt(remoteAddress) {
    return remoteAddress === null || this.#exempt.has(remoteAddress)
  }

  /**
   * @param {object} input
   * @param {string} input.username - as typed
   * @param {string | null} input.remoteAddress - null for the machine's own operator
   * @param {Uint8Array} input.password
   * @returns {Attempt}
   * @throws {MailError} THROTTLED
   */
  admit({ username, remoteAddress, password }) {
    if (this.#isExempt(remoteAddress)) {
      return { waitMs: 0, isKnown: false, succeed: () => {}, fail: () => {}, cancel: () => {} }
    }
    const nowMs = this.#clock.nowMs()
    const named = nameOf(username, { defaultDomain: this.#defaultDomain })
    // Hashed, so that an entry has one size however long the name is.
    const nameKey = createHash('sha256').update(named).digest('base64')
    const place = addressKey(remoteAddress ?? '')
    const name = this.#names.touch(nameKey, nowMs)
    const address = this.#addresses.touch(place, nowMs)
    const pair = this.#pairs.touch(`${place} ${nameKey}`, nowMs)

    const goodMs = pair.goodUntilMs - nowMs
    const wasGood = goodMs > 0 && goodMs <= REMEMBER_GOOD_MS
    if (!wasGood) this.#requireNotHeld(address, nowMs)
    const counted = wasGood ? pair : name
    const waitMs = growing(
      counted.failures + counted.pending,
      FREE_NAME_FAILURES - 1,
      FIRST_WAIT_MS,
      MAX_WAIT_MS
    )
    return this.#attempt({
      name,
      address,
      pair,
      nameKey,
      place,
      password,
      waitMs,
      isKnown: wasGood
    })
  }

  /**
   * @param {Tally} address
   * @param {number} nowMs
   */
  #requireNotHeld(address, nowMs) {
    const heldMs = address.heldUntilMs - nowMs
    // Longer than anything is held: the clock was set back since.
    const isHeld = heldMs > 0 && heldMs <= MAX_HOLD_MS
    // With as many attempts under way as it takes to be held, the next one waits for their outcome.
    const isBurst =
      address.pending > 0 && address.failures + address.pending > FREE_ADDRESS_FAILURES
    if (isHeld || isBurst) throw new MailError('THROTTLED', { detail: 'failures from the address' })
  }

  /**
   * @param {object} input
   * @param {Tally} input.name
   * @param {Tally} input.address
   * @param {Tally} input.pair
   * @param {string} input.nameKey
   * @param {string} input.place
   * @param {Uint8Array} input.password
   * @param {number} input.waitMs
   * @param {boolean} input.isKnown
   * @returns {Attempt}
   */
  #attempt({ name, address, pair, nameKey, place, password, waitMs, isKnown }) {
    const tallies = [name, address, pair]
    for (const tally of tallies) tally.pending++
    let isOver = false
    const end = () => {
      if (isOver) throw new Error('The attempt is over already')
      isOver = true
      for (const tally of tallies) tally.pending--
      return this.#clock.nowMs()
    }
    const fingerprint = createHmac('sha256', this.#fingerprintKey).update(password).digest('base64')
    return {
      waitMs,
      isKnown,
      cancel: () => {
        end()
      },
      succeed: () => {
        const isNews = markGood(pair, end())
        if (isNews) this.onChange?.({ nameKey, place, fingerprint: null })
      },
      fail: () => {
        const nowMs = end()
        const isNews = countFailure({ name, address, pair, fingerprint, nowMs })
        if (isNews) this.onChange?.({ nameKey, place, fingerprint })
      }
    }
  }

  /** @param {ThrottleChange} change - that another worker has seen */
  note({ nameKey, place, fingerprint }) {
    const nowMs = this.#clock.nowMs()
    const pair = this.#pairs.touch(`${place} ${nameKey}`, nowMs)
    if (fingerprint === null) {
      markGood(pair, nowMs)
      return
    }
    const name = this.#names.touch(nameKey, nowMs)
    const address = this.#addresses.touch(place, nowMs)
    countFailure({ name, address, pair, fingerprint, nowMs })
  }

  /** @returns {ThrottleState} for a worker that starts */
  get state() {
    return {
      names: this.#names.latest(),
      addresses: this.#addresses.latest(),
      pairs: this.#pairs.latest()
    }
  }

  /** @param {ThrottleState} state - of another worker; what this one has seen itself stays where it is more */
  adopt({ names, addresses, pairs }) {
    const all = /** @type {const} */ ([
      [this.#names, names],
      [this.#addresses, addresses],
      [this.#pairs, pairs]
    ])
    for (const [tallies, entries] of all) {
      for (const [key, entry] of entries) {
        const own = tallies.touch(key, entry.lastMs)
        own.failures = Math.max(own.failures, entry.failures)
        own.lastMs = Math.max(own.lastMs, entry.lastMs)
        own.heldUntilMs = Math.max(own.heldUntilMs, entry.heldUntilMs)
        own.goodUntilMs = Math.max(own.goodUntilMs, entry.goodUntilMs)
      }
    }
  }
}

/**
 * @param {Tally} pair
 * @param {number} nowMs
 * @returns {boolean} whether it says something new: of a login that repeats a good one nobody need hear for a day
 */
function markGood(pair, nowMs) {
  const goodMs = pair.goodUntilMs - nowMs
  const isKnown = goodMs >= REMEMBER_GOOD_MS - 24 * 60 * 60_000 && goodMs <= REMEMBER_GOOD_MS
  const isNews = pair.failures > 0 || !isKnown
  pair.goodUntilMs = nowMs + REMEMBER_GOOD_MS
  pair.failures = 0
  pair.fingerprints = []
  return isNews
}

/**
 * @param {{ name: Tally, address: Tally, pair: Tally, fingerprint: string, nowMs: number }} failure
 * @returns {boolean} whether it counts: the same wrong password again does not
 */
function countFailure({ name, address, pair, fingerprint, nowMs }) {
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
