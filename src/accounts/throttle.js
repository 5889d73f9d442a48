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
 * parallel gains nothing; those beyond the limit wait for what becomes of them (`admitInTurn`), because an
 * office that comes back after a restart is such a burst, too. The same wrong password again is not counted: it is a
 * phone that has not been told the new one, and it learns nothing. Nor does one that is being checked already count for
 * the name: a mail program opens several connections at once.
 *
 * Of several workers each counts what it sees and tells the others (`onChange`, `note`), so that guessing through all of
 * them gains nothing; one that starts begins with what the others know (`state`, `adopt`).
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { addressKey } from '../support/address-key.js'
import { AddressList } from '../support/address-list.js'
import { nameOf } from './address.js'
import { OutcomeQueue } from './outcome-queue.js'

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
/** The longest that an attempt waits for those before it, ms: below the patience of every mail client. */
const MAX_TURN_MS = 25_000
/** Attempts from one address that wait for those before them. */
const MAX_IN_TURN = 1_000
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
 * @typedef {object} AttemptInput
 * @property {string} username - as typed
 * @property {string | null} remoteAddress - null for the machine's own operator
 * @property {Uint8Array} password
 *
 * @typedef {object} Seen - what an attempt meets
 * @property {number} nowMs
 * @property {string} nameKey
 * @property {string} place - an address key
 * @property {Tally} name
 * @property {Tally} address
 * @property {Tally} pair
 * @property {boolean} wasGood - whether the name was right from there before
 * @property {string} fingerprint - of the password
 * @property {boolean} isRepeat - whether the same is being checked already
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
  /** By address: attempts that wait for the outcome of others. */
  #inTurn = new OutcomeQueue()
  /**
   * Attempts under way, by name, address and password.
   *
   * @type {Map<string, number>}
   */
  #equal = new Map()
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
   * As `admit`; where as many attempts from the address are under way as it takes to be held, it is decided when it is
   * known what became of them.
   *
   * @param {AttemptInput} input
   * @returns {Promise<Attempt>}
   * @throws {MailError} THROTTLED
   */
  async admitInTurn(input) {
    const { remoteAddress } = input
    if (this.#isExempt(remoteAddress)) return this.admit(input)
    const place = addressKey(remoteAddress ?? '')
    const deadlineMs = performance.now() + MAX_TURN_MS
    try {
      while (this.#mustWait(input) && performance.now() < deadlineMs) {
        if (this.#inTurn.size(place) >= MAX_IN_TURN) break
        await this.#inTurn.wait(place)
      }
      return this.admit(input)
    } finally {
      // Where it was refused, it has taken nobody's place.
      if (!this.#isFull(place)) this.#inTurn.wakeNext(place)
    }
  }

  /**
   * @param {AttemptInput} input
   * @returns {Attempt}
   * @throws {MailError} THROTTLED
   */
  admit(input) {
    if (this.#isExempt(input.remoteAddress)) {
      return { waitMs: 0, isKnown: false, succeed: () => {}, fail: () => {}, cancel: () => {} }
    }
    const seen = this.#look(input)
    const { name, address, pair, wasGood, isRepeat, nowMs } = seen
    if (!wasGood && (isHeld(address, nowMs) || isFull(address)))
      throw new MailError('THROTTLED', { detail: 'failures from the address' })
    const counted = wasGood ? pair : name
    const waitMs = growing(
      counted.failures + counted.pending - (isRepeat ? 1 : 0),
      FREE_NAME_FAILURES - 1,
      FIRST_WAIT_MS,
      MAX_WAIT_MS
    )
    return this.#attempt(seen, waitMs)
  }

  /**
   * @param {AttemptInput} input - not of an exempt address
   * @returns {Seen}
   */
  #look({ username, remoteAddress, password }) {
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
    const fingerprint = createHmac('sha256', this.#fingerprintKey).update(password).digest('base64')
    const isRepeat = this.#equal.has(`${place} ${nameKey} ${fingerprint}`)
    return { nowMs, nameKey, place, name, address, pair, wasGood, fingerprint, isRepeat }
  }

  /**
   * @param {AttemptInput} input - not of an exempt address
   * @returns {boolean} whether the outcome of others decides
   */
  #mustWait(input) {
    const { address, wasGood, nowMs } = this.#look(input)
    return !wasGood && !isHeld(address, nowMs) && isFull(address)
  }

  /** @param {string} place */
  #isFull(place) {
    return isFull(this.#addresses.touch(place, this.#clock.nowMs()))
  }

  /**
   * @param {Seen} seen
   * @param {number} waitMs
   * @returns {Attempt}
   */
  #attempt({ name, address, pair, nameKey, place, fingerprint, wasGood, isRepeat }, waitMs) {
    // The same password again makes nobody wait longer; but it costs a derivation where the first was wrong.
    const tallies = isRepeat ? [address] : [name, address, pair]
    for (const tally of tallies) tally.pending++
    const key = `${place} ${nameKey} ${fingerprint}`
    this.#equal.set(key, (this.#equal.get(key) ?? 0) + 1)
    let isOver = false
    /** @param {(nowMs: number) => boolean} count - whether the outcome is news */
    const end = (count) => {
      if (isOver) throw new Error('The attempt is over already')
      isOver = true
      for (const tally of tallies) tally.pending--
      const left = (this.#equal.get(key) ?? 1) - 1
      if (left > 0) this.#equal.set(key, left)
      else this.#equal.delete(key)
      const isNews = count(this.#clock.nowMs())
      this.#inTurn.wakeNext(place)
      return isNews
    }
    return {
      waitMs,
      isKnown: wasGood,
      cancel: () => {
        end(() => false)
      },
      succeed: () => {
        const isNews = end((nowMs) => markGood(pair, nowMs))
        if (isNews) this.onChange?.({ nameKey, place, fingerprint: null })
      },
      fail: () => {
        const isNews = end((nowMs) => countFailure({ name, address, pair, fingerprint, nowMs }))
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
 * @param {Tally} address
 * @param {number} nowMs
 * @returns {boolean} whether it is refused for now
 */
function isHeld(address, nowMs) {
  const heldMs = address.heldUntilMs - nowMs
  // Longer than anything is held: the clock was set back since.
  return heldMs > 0 && heldMs <= MAX_HOLD_MS
}

/**
 * @param {Tally} address
 * @returns {boolean} whether with as many attempts under way as it takes to be held
 */
function isFull({ pending, failures }) {
  return pending > 0 && failures + pending > FREE_ADDRESS_FAILURES
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
