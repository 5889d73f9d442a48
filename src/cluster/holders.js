/**
 * Who has an account open. The worker that the first session of an account comes to opens the mailbox and holds it; later
 * sessions that come in elsewhere are handed to it. Whom to ask is the same for all: the account's registrar (registrar.js),
 * which remembers the holder.
 *
 *     first login at A ── claim ──► R: nobody has it: A ──► A opens it
 *     next login at B ─── claim ──► R: A ──► B hands the session to A
 *     A closes it ───── released ─► R: nobody has it
 *
 * The holders know best what they hold, so a lost register is made again: when an account's registrar changes, each holder
 * tells the new one. Until all have had the time for that, a registrar that knows no holder asks all workers. A register that
 * is wrong all the same costs time and no mail: the named worker opens the mailbox, and SQLite keeps apart two that have it.
 */
import { Register } from './register.js'

/** A registrar may take at most so long for a claim, ms; then the session is served where it is. */
const CLAIM_MS = 3_000
/** A worker that is asked whether it holds an account may take at most so long, ms; then it counts as holding none. */
const HOLDS_MS = 1_500
/** Within so long after a worker has come or gone, all others have told the registrars what they hold, ms. */
const SETTLE_MS = 1_000
/** A worker that takes another for the registrar passes the claim on, at most so often: two must not do so for ever. */
const MAX_HOPS = 2
/** At most so many registrars are asked, where each dies before it answers. */
const MAX_TRIES = 3

/**
 * @typedef {object} Claim
 * @property {string} accountId
 * @property {string} claimant - path of the worker that a session has come to
 * @property {string[]} except - paths of workers that the claimant has tried already, and found gone or leaving
 * @property {number} [hops] - registrars that have passed it on
 *
 * @typedef {object} OtherWorker
 * @property {string} path
 * @property {Pick<import('./link.js').Link, 'ask' | 'tell' | 'isClosed'>} link
 *
 * @typedef {object} Neighbours - the workers as this one sees them
 * @property {(accountId: string) => OtherWorker | null} registrarOf - null: this worker
 * @property {(path: string) => boolean} isTaking - whether the worker is there, or is this one, and takes sessions
 * @property {readonly OtherWorker[]} all - the others
 */

/** Claims accounts, answers claims, and says what this worker holds. */
export class Holders {
  #path
  #neighbours
  #register = new Register()
  /** @type {Map<string, string>} accounts that are open here, and the registrar that was told */
  #own = new Map()
  #settleMs
  #changedAt = performance.now()

  /**
   * @param {string} path - this worker's
   * @param {Neighbours} neighbours
   * @param {{ settleMs?: number }} [options] - for how long a registrar asks around after a worker has come or gone
   */
  constructor(path, neighbours, { settleMs = SETTLE_MS } = {}) {
    this.#path = path
    this.#neighbours = neighbours
    this.#settleMs = settleMs
  }

  /** @returns {{ held: number, registered: number }} for tests: accounts that are open here; that this worker is the registrar of */
  get figures() {
    return { held: this.#own.size, registered: this.#register.size }
  }

  /**
   * Asks the account's registrar, or answers as its registrar. Where nobody else has the account open, the answer is the
   * claimant, which holds the account from then on.
   *
   * @param {Claim} claim
   * @returns {Promise<string | null>} path of the worker that the session belongs to; null where no registrar answers
   */
  async claim(claim) {
    const { hops = 0, ...question } = claim
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const registrar = hops < MAX_HOPS ? this.#neighbours.registrarOf(claim.accountId) : null
      if (registrar === null) return await this.#answer(claim)
      const { link } = registrar
      const asked = { op: 'claim', ...question, hops: hops + 1 }
      const answer = await link.ask(asked, { timeoutMs: CLAIM_MS })
      if (answer !== null) return /** @type {string | null} */ (answer.answer)
      if (!link.isClosed) return null
    }
    return null
  }

  /** @param {Claim} claim */
  async #answer({ accountId, claimant, except }) {
    const isGood = (/** @type {string} */ path) =>
      this.#neighbours.isTaking(path) && !except.includes(path)
    const find = () => this.#register.find(accountId, isGood)
    const known = find()
    if (known !== null) return known
    if (performance.now() - this.#changedAt < this.#settleMs) await this.#askAround(accountId)
    // Another claim may have been answered meanwhile.
    const found = find()
    if (found !== null) return found
    // A claimant that is leaving serves this session until it is gone, but no others are to be sent to it.
    if (this.#neighbours.isTaking(claimant)) this.#register.note(accountId, claimant)
    return claimant
  }

  /** @param {string} accountId - of which this registrar knows no holder */
  async #askAround(accountId) {
    const question = { op: 'holds', accountId }
    await Promise.all(
      this.#neighbours.all.map(async ({ path, link }) => {
        const answer = await link.ask(question, { timeoutMs: HOLDS_MS })
        if (answer?.answer === true) this.noteHeld(path, [accountId])
      })
    )
  }

  /**
   * @param {string} accountId
   * @returns {boolean} whether it is open here
   */
  holds(accountId) {
    return this.#own.has(accountId)
  }

  /**
   * To be called when the mailbox is about to be open here.
   *
   * @param {string} accountId
   */
  hold(accountId) {
    const registrar = this.#neighbours.registrarOf(accountId)
    this.#own.set(accountId, registrar?.path ?? this.#path)
    if (registrar === null) this.#register.note(accountId, this.#path)
    else registrar.link.tell({ op: 'holding', path: this.#path, accountIds: [accountId] })
  }

  /**
   * To be called when the mailbox is closed here.
   *
   * @param {string} accountId
   */
  release(accountId) {
    const told = this.#own.get(accountId)
    if (!this.#own.delete(accountId)) return
    this.#register.drop(accountId, this.#path)
    const registrar = this.#neighbours.all.find(({ path }) => path === told)
    registrar?.link.tell({ op: 'released', path: this.#path, accountId })
  }

  /**
   * Notes what another worker says that it holds.
   *
   * @param {string} path - that worker's
   * @param {string[]} accountIds
   */
  noteHeld(path, accountIds) {
    // What a worker said just before it died would stay in the register for ever.
    if (!this.#neighbours.isTaking(path)) return
    for (const accountId of accountIds) this.#register.note(accountId, path)
  }

  /**
   * Notes that another worker has closed a mailbox.
   *
   * @param {string} path - that worker's
   * @param {string} accountId
   */
  noteReleased(path, accountId) {
    this.#register.drop(accountId, path)
  }

  /**
   * To be called when a worker has come. What the result tells it need not be announced.
   *
   * @param {string} path - the new worker's
   * @returns {string[]} accounts that are open here and of which it is the registrar
   */
  tell(path) {
    const accountIds = [...this.#own.keys()].filter(
      (accountId) => this.#neighbours.registrarOf(accountId)?.path === path
    )
    for (const accountId of accountIds) this.#own.set(accountId, path)
    this.#prune()
    return accountIds
  }

  /**
   * To be called when a worker has gone, or takes no more sessions: nobody holds what it held, and the accounts of which it
   * was the registrar have others now, which learn what is open here.
   */
  announce() {
    this.#prune()
    /** @type {Map<OtherWorker, string[]>} */
    const news = new Map()
    for (const [accountId, told] of this.#own) {
      const registrar = this.#neighbours.registrarOf(accountId)
      const path = registrar?.path ?? this.#path
      if (path === told) continue
      this.#own.set(accountId, path)
      if (registrar === null) this.#register.note(accountId, path)
      else if (!news.get(registrar)?.push(accountId)) news.set(registrar, [accountId])
    }
    for (const [{ link }, accountIds] of news) {
      link.tell({ op: 'holding', path: this.#path, accountIds })
    }
  }

  #prune() {
    const neighbours = this.#neighbours
    this.#changedAt = performance.now()
    this.#register.prune(
      (accountId) => neighbours.registrarOf(accountId) === null,
      (path) => neighbours.isTaking(path)
    )
  }
}
