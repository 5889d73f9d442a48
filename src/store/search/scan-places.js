/**
 * How many threads for long searches there are in the process. Each takes some 40 MB, and stays a while after its search,
 * because who has searched searches again. Where all places are taken, the thread that has had nothing to do for longest
 * makes room; where all of them are at work, the one that has been for longest does when it has had its turn, and its
 * search goes to the end of the queue. A hundred mailboxes that were searched at once took 3.3 GB and 44 s with a thread
 * each, and 0.6 GB and 9 s with eight threads (two cores).
 */
import PQueue from 'p-queue'

/** Milliseconds of work, after which others have their turn. To begin again somewhere else costs some 0.1 s. */
const TURN_MS = 5000

/**
 * @typedef {object} ScanThread
 * @property {() => Promise<void>} end - called when it has nothing to do, and has to make room; settles when it has ended
 * @property {() => Promise<void>} pause - called when it has had its turn; settles when it has ended
 */

/** The process's. */
export class ScanPlaces {
  #queue
  #turnMs
  /** @type {Set<ScanThread>} the one that has been idle for longest comes first */
  #idle = new Set()
  /** @type {Map<ScanThread, number>} since when they have been at work, monotonic ms; the first of them comes first */
  #busy = new Map()
  /** Threads that make room at this moment. */
  #leaving = 0
  /** @type {NodeJS.Timeout | undefined} until the first of those at work has had its turn */
  #turn

  /** @param {{ threads: number, turnMs?: number }} options - `threads`: at most */
  constructor({ threads, turnMs = TURN_MS }) {
    this.#queue = new PQueue({ concurrency: threads })
    this.#turnMs = turnMs
  }

  /** @returns {number} threads that there are */
  get threads() {
    return this.#queue.pending
  }

  /** @returns {number} mailboxes whose searches wait for a thread */
  get waiting() {
    return this.#queue.size
  }

  /**
   * @param {() => Promise<void>} live - starts a thread; settles when that has ended
   * @param {AbortSignal} signal - gives up the place among those who wait
   * @returns {Promise<void>} settles with `live`
   * @throws the signal's reason, when it was aborted before
   */
  async take(live, signal) {
    const life = this.#queue.add(live, { signal })
    this.#makeRoom()
    await life
  }

  /** @param {ScanThread} thread - that has nothing to do for the moment */
  noteIdle(thread) {
    this.#busy.delete(thread)
    this.#idle.add(thread)
    this.#makeRoom()
  }

  /** @param {ScanThread} thread - that has something to do, perhaps more of it */
  noteBusy(thread) {
    this.#idle.delete(thread)
    if (this.#busy.has(thread)) return
    this.#busy.set(thread, performance.now())
    this.#makeRoom()
  }

  /** @param {ScanThread} thread */
  noteEnded(thread) {
    this.#idle.delete(thread)
    this.#busy.delete(thread)
  }

  #makeRoom() {
    clearTimeout(this.#turn)
    while (this.#queue.size > this.#leaving) {
      const [idle] = this.#idle
      const [busy] = this.#busy
      if (idle !== undefined) {
        this.#idle.delete(idle)
        this.#leave(idle.end())
      } else if (busy !== undefined) {
        const [thread, sinceMs] = busy
        const leftMs = sinceMs + this.#turnMs - performance.now()
        if (leftMs > 0) {
          this.#turn = setTimeout(() => this.#makeRoom(), leftMs).unref()
          return
        }
        this.#busy.delete(thread)
        this.#leave(thread.pause())
      } else return
    }
  }

  /** @param {Promise<void>} ended */
  #leave(ended) {
    this.#leaving++
    ended.finally(() => {
      this.#leaving--
      this.#makeRoom()
    })
  }
}
