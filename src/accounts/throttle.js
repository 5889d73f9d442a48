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
 * parallel gains nothing; further attempts wait for the outcome of these (`admitInTurn`), because an office that
 * comes back after a restart is such a burst, too. The same wrong password again is not counted: it comes from a phone
 * that has not been told the new one, and it learns nothing. Nor does a password that is being checked already count
 * for the name: a mail program opens several connections at once.
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
import {
  Tallies,
  countFailure,
  isFull,
  isHeld,
  isWrongAgain,
  nameWaitMs,
  wasGoodAt
} from './tallies.js'

/** @import { Standing } from './argon2-queue.js' */
/** @import { Tally, ToldTally } from './tallies.js' */

/** An attempt waits at most so many ms for those before it: below the patience of every mail client. */
const MAX_TURN_MS = 25_000
/** At most so many attempts from one address wait for those before them. */
const MAX_IN_TURN = 1_000

/**
 * @typedef {object} ThrottleChange - plain data, without a name or a password
 * @property {string} nameKey
 * @property {string} place - an address key
 * @property {string | null} fingerprint - of a wrong password; null: the login was good
 *
 * @typedef {Record<'names' | 'addresses' | 'pairs', [string, ToldTally][]>} ThrottleState
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
 * @property {number} alike - attempts with the same password that are under way already
 */

/**
 * @typedef {object} Attempt - `waitMs` is to be waited before checking; then exactly one of the three is called
 * @property {number} waitMs
 * @property {Standing} standing - decides whose password is checked first
 * @property {() => void} succeed
 * @property {() => void} fail
 * @property {() => void} cancel - nothing was checked
 */

/** @type {Attempt} of addresses that are not counted */
const EXEMPT = Object.freeze({
  waitMs: 0,
  standing: 'stranger',
  succeed: () => {},
  fail: () => {},
  cancel: () => {}
})

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
   * Told of each change that this worker has seen itself.
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
   * Where as many attempts from the address are under way as it takes to hold it, the outcome of these is waited for first.
   *
   * @param {AttemptInput} input
   * @returns {Promise<Attempt>}
   * @throws {MailError} THROTTLED
   */
  async admitInTurn(input) {
    if (this.#isExempt(input.remoteAddress)) return EXEMPT
    const deadlineMs = performance.now() + MAX_TURN_MS
    let seen = this.#look(input)
    const { place } = seen
    try {
      while (mustWait(seen) && performance.now() < deadlineMs) {
        if (this.#inTurn.size(place) >= MAX_IN_TURN) break
        await this.#inTurn.wait(place)
        seen = this.#look(input)
      }
      return this.#decide(seen)
    } finally {
      // An attempt that was refused has taken no place: the next one may try.
      if (!isFull(seen.address)) this.#inTurn.wakeNext(place)
    }
  }

  /**
   * @param {Seen} seen
   * @returns {Attempt}
   * @throws {MailError} THROTTLED
   */
  #decide(seen) {
    const { name, address, pair, wasGood, alike, nowMs } = seen
    if (!wasGood && (isHeld(address, nowMs) || isFull(address)))
      throw new MailError('THROTTLED', { detail: 'failures from the address' })
    const counted = wasGood ? pair : name
    const waitMs = nameWaitMs(counted.failures + counted.pending - (alike > 0 ? 1 : 0))
    return this.#attempt(seen, waitMs)
  }

  /**
   * @param {string} username - as typed
   * @returns {string} hashed, so that an entry has one size however long the name is
   */
  #nameKeyOf(username) {
    const named = nameOf(username, { defaultDomain: this.#defaultDomain })
    return createHash('sha256').update(named).digest('base64')
  }

  /**
   * @param {AttemptInput} input - not of an exempt address
   * @returns {Seen}
   */
  #look({ username, remoteAddress, password }) {
    const nowMs = this.#clock.nowMs()
    const nameKey = this.#nameKeyOf(username)
    const place = addressKey(remoteAddress ?? '')
    const name = this.#names.touch(nameKey, nowMs)
    const address = this.#addresses.touch(place, nowMs)
    const pair = this.#pairs.touch(pairKeyOf({ place, nameKey }), nowMs)
    const wasGood = wasGoodAt(pair, nowMs)
    const fingerprint = createHmac('sha256', this.#fingerprintKey).update(password).digest('base64')
    const alike = this.#equal.get(`${place} ${nameKey} ${fingerprint}`) ?? 0
    return { nowMs, nameKey, place, name, address, pair, wasGood, fingerprint, alike }
  }

  /**
   * @param {Seen} seen
   * @param {number} waitMs
   * @returns {Attempt}
   */
  #attempt(seen, waitMs) {
    const { name, address, pair, nameKey, place, fingerprint, alike } = seen
    const standing = standingOf(seen)
    // The same password again makes nobody wait longer, but counts for the address: it costs a derivation if the first is wrong.
    const tallies = alike > 0 ? [address] : [name, address, pair]
    for (const tally of tallies) tally.pending++
    const key = `${place} ${nameKey} ${fingerprint}`
    this.#equal.set(key, alike + 1)
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
      standing,
      cancel: () => {
        end(() => false)
      },
      succeed: () => {
        const isNews = end((nowMs) => this.#pairs.markGood(pairKeyOf(seen), nowMs))
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
    const pairKey = pairKeyOf({ place, nameKey })
    if (fingerprint === null) {
      this.#pairs.markGood(pairKey, nowMs)
      return
    }
    const pair = this.#pairs.touch(pairKey, nowMs)
    const name = this.#names.touch(nameKey, nowMs)
    const address = this.#addresses.touch(place, nowMs)
    countFailure({ name, address, pair, fingerprint, nowMs })
  }

  /**
   * Takes note of a login that the audit log has from before this process.
   *
   * @param {{ username: string, remoteAddress: string, atMs: number }} login - that was good
   */
  remember({ username, remoteAddress, atMs }) {
    if (this.#isExempt(remoteAddress)) return
    const pairKey = pairKeyOf({
      place: addressKey(remoteAddress),
      nameKey: this.#nameKeyOf(username)
    })
    this.#pairs.rememberGood(pairKey, { atMs, nowMs: this.#clock.nowMs() })
  }

  /** @returns {ThrottleState} for a worker that starts */
  get state() {
    return {
      names: this.#names.latest(),
      addresses: this.#addresses.latest(),
      pairs: this.#pairs.latest()
    }
  }

  /** @param {ThrottleState} state - of another worker; a larger count that this one has seen itself stays */
  adopt({ names, addresses, pairs }) {
    const all = /** @type {const} */ ([
      [this.#names, names],
      [this.#addresses, addresses],
      [this.#pairs, pairs]
    ])
    const nowMs = this.#clock.nowMs()
    for (const [tallies, entries] of all) {
      for (const [key, told] of entries) tallies.merge(key, told, nowMs)
    }
  }
}

/**
 * @param {Pick<Seen, 'place' | 'nameKey'>} seen
 * @returns {string}
 */
const pairKeyOf = ({ place, nameKey }) => `${place} ${nameKey}`

/**
 * @param {Seen} seen
 * @returns {Standing}
 */
function standingOf({ wasGood, pair, fingerprint, alike }) {
  if (!wasGood) return 'stranger'
  return isWrongAgain(pair, { fingerprint, alike }) ? 'guessing' : 'known'
}

/**
 * @param {Seen} seen
 * @returns {boolean} whether the attempt must wait for the outcome of others
 */
const mustWait = ({ address, wasGood, nowMs }) =>
  !wasGood && !isHeld(address, nowMs) && isFull(address)
