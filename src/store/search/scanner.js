/**
 * Long searches run in a thread, one for each mailbox that has any: it starts with the first and stays for a while,
 * because who has searched searches again. A search that takes so long that others must have their turn goes on in
 * another thread, where it was.
 */
import { MailError } from '../../errors.js'
import { fromThreadFailure } from '../../database/thread.js'
import { GO_ON, PAUSE, STOP } from './scan-request.js'
import { ScanWorker } from './scan-worker.js'

/**
 * @typedef {import('./scan-request.js').ScanRequest} ScanRequest
 * @typedef {import('./scan-places.js').ScanPlaces} ScanPlaces
 * @typedef {Omit<import('./scan-thread.js').ScanThreadData, 'path'>} ScannerSettings
 *
 * @typedef {object} Wait - for a thread that begins
 * @property {Promise<ScanWorker>} thread
 * @property {AbortController} giveUp - leaves the place among those who wait
 * @property {number} searches - that want the thread
 */

/** The thread for the searches of one open mailbox. */
export class Scanner {
  #database
  #settings
  #places
  /** @type {ScanWorker | null} the last one */
  #thread = null
  /**
   * Threads that have not ended: one, and maybe another that has been told to end.
   *
   * @type {Set<ScanWorker>}
   */
  #threads = new Set()
  /** @type {Wait | null} while searches wait for a thread */
  #wait = null
  #isClosed = false

  /**
   * @param {import('../account-database.js').AccountDatabase} database
   * @param {ScannerSettings} settings
   * @param {ScanPlaces} places
   */
  constructor(database, settings, places) {
    this.#database = database
    this.#settings = settings
    this.#places = places
  }

  /**
   * @param {ScanRequest} request - its arrays are given away
   * @param {AbortSignal} [signal] - ends the search
   * @returns {Promise<Uint32Array[]>} UIDs of those that match, in no order
   * @throws {MailError} what the search failed with; SHUTTING_DOWN when the mailbox is being closed
   * @throws the signal's reason
   */
  scan(request, signal) {
    return this.#database.whileOpen(async () => {
      const flag = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
      const stop = () => {
        Atomics.store(flag, 0, STOP)
      }
      const signals = [this.#database.closing, ...(signal ? [signal] : [])]
      const ignore = whenAborted(signals, stop)
      try {
        const found = []
        for (let left = request; ;) {
          const thread =
            this.#thread?.isEnding === false ? this.#thread : await this.#begin(signals)
          const answer = thread.ask(left, flag.buffer)
          this.#places.noteBusy(thread)
          const { outcome, failure } = await answer
          signal?.throwIfAborted()
          if (outcome === undefined) throw fromThreadFailure(failure)
          found.push(outcome.uids)
          if (outcome.rest === undefined) return found
          left = { ...left, ...outcome.rest }
          Atomics.compareExchange(flag, 0, PAUSE, GO_ON)
        }
      } finally {
        ignore()
      }
    })
  }

  /**
   * Ends the thread, and the searches that are under way with SHUTTING_DOWN. To be called before the store's own
   * connection closes: the last one to close tidies up, which one that only reads cannot do.
   */
  async close() {
    this.#isClosed = true
    this.#wait?.giveUp.abort(new MailError('SHUTTING_DOWN'))
    await Promise.all([...this.#threads].map((thread) => thread.end()))
  }

  /**
   * @param {readonly AbortSignal[]} signals - each ends the waiting
   * @returns {Promise<ScanWorker>}
   * @throws the signal's reason
   */
  async #begin(signals) {
    for (const signal of signals) signal.throwIfAborted()
    if (this.#isClosed) throw new MailError('SHUTTING_DOWN')
    const wait = this.#wait ?? this.#queueUp()
    wait.searches++
    /** @type {PromiseWithResolvers<never>} */
    const { promise: left, reject } = Promise.withResolvers()
    const ignore = whenAborted(signals, (reason) => {
      reject(reason)
      wait.searches--
      // At once: a thread that nobody asks anything would never rest, and keep its place for ever.
      if (wait.searches === 0) this.#leave(wait)
    })
    try {
      return await Promise.race([wait.thread, left])
    } finally {
      ignore()
    }
  }

  /** @returns {Wait} for a place, in which a thread then begins */
  #queueUp() {
    const giveUp = new AbortController()
    /** @type {PromiseWithResolvers<ScanWorker>} */
    const { promise: thread, resolve, reject } = Promise.withResolvers()
    const wait = { thread, giveUp, searches: 0 }
    const live = async () => {
      if (this.#wait === wait) this.#wait = null
      const begun = this.#start()
      resolve(begun)
      await begun.ended
      this.#threads.delete(begun)
      this.#places.noteEnded(begun)
    }
    // Where there is a place, it begins before this returns.
    this.#wait = wait
    this.#places.take(live, giveUp.signal).catch(reject)
    return wait
  }

  /**
   * Gives up waiting for a thread that no search wants any more.
   *
   * @param {Wait} wait
   */
  #leave(wait) {
    if (this.#wait !== wait) return
    this.#wait = null
    wait.giveUp.abort()
  }

  /** @returns {ScanWorker} */
  #start() {
    const { path } = this.#database
    const thread = new ScanWorker({ ...this.#settings, path }, () => this.#places.noteIdle(thread))
    this.#thread = thread
    this.#threads.add(thread)
    return thread
  }
}

/**
 * Without a signal of its own for each search: Node keeps something of each for as long as the mailbox is open.
 *
 * @param {readonly AbortSignal[]} signals
 * @param {(reason: unknown) => void} listener
 * @returns {() => void} no longer listens
 */
function whenAborted(signals, listener) {
  const listeners = signals.map((signal) => {
    const onAbort = () => listener(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    return () => signal.removeEventListener('abort', onAbort)
  })
  return () => {
    for (const ignore of listeners) ignore()
  }
}
