/**
 * The other workers of this host: found by their sockets in the run folder, each held by a link that ends when it dies.
 *
 * A worker that starts connects to all that are there, and they connect back before they answer: when it is up, everybody
 * knows it. A socket at which nobody listens was left by a killed process, and is removed.
 */
import { readdir, rm } from 'node:fs/promises'
import { errorCodeOf } from '../database/sqlite-error.js'
import { registrarAmong } from './registrar.js'
import { Link } from './link.js'
import { parseSocketName } from './socket-name.js'

/** @import { Candidate } from './registrar.js' */

/** The run folder is read again after so long, ms, in case two workers have missed each other. */
const LOOK_AGAIN_MS = 5_000

/**
 * @typedef {Candidate & { path: string }} WorkerPlace
 * @typedef {WorkerPlace & { link: Link, isLeaving: boolean }} Peer
 *
 * @typedef {object} PeersOptions
 * @property {string} folder
 * @property {WorkerPlace} self
 * @property {(peer: Peer, answer: any) => void} onMet - what a worker has answered to `hello`
 * @property {() => void} onGone - a worker is not there any more, or takes no more sessions
 * @property {import('../telemetry/logger.js').Logger} logger
 */

/** The workers that this one knows. */
export class Peers {
  #folder
  #self
  #onMet
  #onGone
  #logger
  /** @type {Map<string, Peer>} by path */
  #peers = new Map()
  /** @type {Map<string, Promise<void>>} by path */
  #meeting = new Map()
  /** @type {NodeJS.Timeout | undefined} */
  #timer
  #isClosed = false
  #isLeaving = false
  /**
   * Workers that may be registrars; null where that has to be found out anew, as somebody has come or gone. Remembered, since
   * all accounts are gone through after such a change.
   *
   * @type {(WorkerPlace | Peer)[] | null}
   */
  #taking = null

  /** @param {PeersOptions} options */
  constructor({ folder, self, onMet, onGone, logger }) {
    this.#folder = folder
    this.#self = self
    this.#onMet = onMet
    this.#onGone = onGone
    this.#logger = logger
  }

  /** Meets everybody who is there, and goes on looking. */
  async start() {
    await this.#look()
    if (this.#isClosed) return
    this.#timer = setInterval(() => {
      this.#look().catch((err) => this.#logger.warn({ err }, 'the run folder could not be read'))
    }, LOOK_AGAIN_MS)
    this.#timer.unref()
  }

  /** @returns {Peer[]} the other workers that live, also those that are leaving */
  get all() {
    return [...this.#peers.values()]
  }

  /** @returns {number} slots with a worker that takes sessions, this one's included */
  get slots() {
    const slots = new Set(this.#candidates().map(({ slot }) => slot))
    return Math.max(1, slots.size)
  }

  /**
   * @param {string} accountId
   * @returns {Peer | null} who remembers which worker has the account open; null: this worker itself
   */
  registrarOf(accountId) {
    const registrar = registrarAmong(accountId, this.#candidates())
    return registrar !== null && 'link' in registrar ? registrar : null
  }

  /**
   * @param {string} path
   * @returns {Peer | null} null where no other worker is known by it
   */
  find(path) {
    return this.#peers.get(path) ?? null
  }

  /**
   * @param {string} path
   * @returns {boolean} whether the worker is there, or is this one, and takes sessions
   */
  isTaking(path) {
    const worker = path === this.#self.path ? this : this.#peers.get(path)
    return worker?.isLeaving === false
  }

  /** @returns {boolean} whether this worker takes no more sessions */
  get isLeaving() {
    return this.#isLeaving
  }

  /** From now on this worker takes no more sessions. */
  leave() {
    this.#isLeaving = true
    this.#taking = null
  }

  /** @returns {(WorkerPlace | Peer)[]} */
  #candidates() {
    if (this.#taking === null) {
      const peers = this.all.filter(({ isLeaving }) => !isLeaving)
      this.#taking = this.#isLeaving ? peers : [...peers, this.#self]
    }
    return this.#taking
  }

  /**
   * @param {string} path - of a worker that takes no more sessions
   */
  noteLeaving(path) {
    const peer = this.#peers.get(path)
    if (peer === undefined || peer.isLeaving) return
    peer.isLeaving = true
    this.#taking = null
    this.#onGone()
  }

  /**
   * Connects to a worker. Does nothing where there is a link already.
   *
   * @param {WorkerPlace} place
   * @returns {Promise<void>} once that worker knows this one, or is known to be dead
   */
  meet(place) {
    const { path } = place
    if (this.#peers.has(path) || this.#isClosed) return Promise.resolve()
    const present = this.#meeting.get(path)
    if (present !== undefined) return present
    const meeting = this.#meetNow(place).finally(() => this.#meeting.delete(path))
    this.#meeting.set(path, meeting)
    return meeting
  }

  /** @param {WorkerPlace} place */
  async #meetNow({ slot, generation, pid, path }) {
    /** @type {Link | undefined} */
    let link
    try {
      link = await Link.connect(path, () => {
        if (this.#peers.get(path)?.link !== link) return
        this.#peers.delete(path)
        this.#taking = null
        this.#onGone()
      })
    } catch (error) {
      // A worker listens before its socket gets this name, so the process behind a refusal is gone.
      if (errorCodeOf(error) === 'ECONNREFUSED') await rm(path, { force: true })
      return
    }
    // `close` was called meanwhile, and has not closed this link.
    if (this.#isClosed) return link.close()
    const peer = { slot, generation, pid, path, link, isLeaving: false }
    this.#peers.set(path, peer)
    this.#taking = null
    // The other connects back before it answers, but does not wait for our answer to that: both would wait for each other.
    const answer = await link.ask({ op: 'hello', self: this.#self })
    if (answer !== null) this.#onMet(peer, answer.answer)
  }

  async #look() {
    const names = await readdir(this.#folder)
    await Promise.all(
      names
        .map((name) => parseSocketName(this.#folder, name))
        .filter((place) => place !== null)
        .filter(({ path }) => path !== this.#self.path)
        .map((place) => this.meet(place))
    )
  }

  /** Forgets everybody. */
  close() {
    this.#isClosed = true
    clearInterval(this.#timer)
    for (const { link } of this.#peers.values()) link.close()
    this.#peers.clear()
    this.#taking = null
  }
}
