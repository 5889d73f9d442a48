/**
 * Commands and bytes per minute, where the operator has set them: of an account, counted in the worker that has it open,
 * and of an address, of which each worker grants its share.
 *
 * A client that takes more is slowed down to that pace, and nothing is refused: mail programs show a refusal to their users as
 * a failure, and ask again at once. A minute's worth may come at once, so only a client that goes on is slowed.
 */
import { addressKey } from '../../support/address-key.js'

/** @import { Clock } from '../../support/clock.js' */

const MINUTE_MS = 60_000

/**
 * @typedef {object} AllowanceLimits - per minute; 0: none
 * @property {number} commandsPerMinutePerAccount
 * @property {number} commandsPerMinutePerAddress
 * @property {number} bytesPerMinutePerAccount
 * @property {number} bytesPerMinutePerAddress
 */

/** An amount that may still be taken; it fills up evenly, to a minute's worth. */
class Allowance {
  #left
  #limit
  #atMs

  /**
   * @param {number} limit - per minute
   * @param {number} nowMs
   */
  constructor(limit, nowMs) {
    this.#limit = limit
    this.#left = limit
    this.#atMs = nowMs
  }

  /**
   * @param {number} nowMs
   * @param {number} limit - as it stands: another worker may have come or gone
   */
  refill(nowMs, limit) {
    const gained = (Math.max(0, nowMs - this.#atMs) * limit) / MINUTE_MS
    this.#limit = limit
    this.#left = Math.min(limit, this.#left + gained)
    this.#atMs = nowMs
  }

  /** @param {number} amount - may be more than there is: the session then waits until the debt is filled up */
  take(amount) {
    this.#left -= amount
  }

  /** @returns {boolean} whether more was taken than there was */
  get isOverdrawn() {
    return this.#left < 0
  }

  /** @returns {boolean} whether it says nothing that a new one would not */
  get isFull() {
    return this.#left >= this.#limit
  }
}

/** The allowances that one session takes from, until `release`. */
export class Pace {
  #commands
  #bytes
  #refill
  #release

  /**
   * @param {object} parts
   * @param {Allowance[]} parts.commands
   * @param {Allowance[]} parts.bytes
   * @param {() => void} parts.refill - fills up all of them to the present time
   * @param {() => void} parts.release
   */
  constructor({ commands, bytes, refill, release }) {
    this.#commands = commands
    this.#bytes = bytes
    this.#refill = refill
    this.#release = release
  }

  /** To be called once, when the session has ended or has another pace. */
  release() {
    this.#release()
  }

  /** Counts one command. */
  noteCommand() {
    for (const allowance of this.#commands) allowance.take(1)
  }

  /** @param {number} size - of the bytes received or sent, before compression and TLS */
  noteBytes(size) {
    for (const allowance of this.#bytes) allowance.take(size)
  }

  /** @returns {boolean} whether the session has to wait */
  get mustWait() {
    const isOver = (/** @type {Allowance} */ { isOverdrawn }) => isOverdrawn
    if (!this.#commands.some(isOver) && !this.#bytes.some(isOver)) return false
    this.#refill()
    return this.#commands.some(isOver) || this.#bytes.some(isOver)
  }
}

/** @typedef {{ allowance: Allowance, limit: () => number, sessions: number }} Entry */

/** The allowances of all accounts and addresses in this process. */
export class Allowances {
  #limits
  #clock
  #shareOf
  #isExempt
  /** @type {Map<string, Entry>} */
  #entries = new Map()

  /**
   * @param {object} options
   * @param {AllowanceLimits} options.limits
   * @param {Clock} options.clock
   * @param {(limit: number) => number} options.shareOf - of a limit for all workers: this one's
   * @param {(remoteAddress: string) => boolean} options.isExempt - whether an address is not counted
   */
  constructor({ limits, clock, shareOf, isExempt }) {
    this.#limits = limits
    this.#clock = clock
    this.#shareOf = shareOf
    this.#isExempt = isExempt
  }

  /**
   * @param {{ remoteAddress: string, accountId: string | null }} session - before login without an account
   * @returns {Pace | null} null where nothing is limited
   */
  paceOf({ remoteAddress, accountId }) {
    const limits = this.#limits
    const place = addressKey(remoteAddress)
    const isCounted = !this.#isExempt(remoteAddress)
    const taken = (/** @type {'commands' | 'bytes'} */ kind) => {
      const perAddress = limits[`${kind}PerMinutePerAddress`]
      const perAccount = limits[`${kind}PerMinutePerAccount`]
      const found = []
      if (perAddress > 0 && isCounted) {
        found.push(this.#entry(`${kind} from ${place}`, () => this.#shareOf(perAddress)))
      }
      if (perAccount > 0 && accountId !== null) {
        found.push(this.#entry(`${kind} of ${accountId}`, () => perAccount))
      }
      return found
    }
    const commands = taken('commands')
    const bytes = taken('bytes')
    if (commands.length + bytes.length === 0) return null
    const entries = [...commands, ...bytes]
    for (const entry of entries) entry.sessions++
    return new Pace({
      commands: commands.map(({ allowance }) => allowance),
      bytes: bytes.map(({ allowance }) => allowance),
      refill: () => {
        const nowMs = this.#clock.nowMs()
        for (const { allowance, limit } of entries) allowance.refill(nowMs, limit())
      },
      release: () => {
        for (const entry of entries) entry.sessions--
      }
    })
  }

  /**
   * @param {string} key
   * @param {() => number} limit
   * @returns {Entry}
   */
  #entry(key, limit) {
    const entry = this.#entries.get(key) ?? {
      allowance: new Allowance(limit(), this.#clock.nowMs()),
      limit,
      sessions: 0
    }
    this.#entries.set(key, entry)
    return entry
  }

  /** Forgets full allowances that no session uses, for which a new one could stand; called every second. */
  tidy() {
    const nowMs = this.#clock.nowMs()
    for (const [key, { allowance, limit, sessions }] of this.#entries) {
      if (sessions > 0) continue
      allowance.refill(nowMs, limit())
      if (allowance.isFull) this.#entries.delete(key)
    }
  }
}
