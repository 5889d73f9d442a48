/**
 * How many threads for long searches there are in the process. Each takes some 40 MB, and stays a while after its search,
 * because who has searched searches again. Where all places are taken, the thread that has had nothing to do for longest
 * makes room; where all of them are at work, a search waits until one is over. A hundred mailboxes that were searched at
 * once took 3.3 GB and 44 s with a thread each, and 0.6 GB and 9 s with eight threads (two cores).
 */
import PQueue from 'p-queue'

/**
 * @typedef {object} IdleThread
 * @property {() => Promise<void>} end - called when it has to make room; settles when it has ended
 */

/** The process's. */
export class ScanPlaces {
  #queue
  /** @type {Set<IdleThread>} the one that has been idle for longest comes first */
  #idle = new Set()
  /** Threads that make room at this moment. */
  #leaving = 0

  /** @param {{ threads: number }} options - at most */
  constructor({ threads }) {
    this.#queue = new PQueue({ concurrency: threads })
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

  /** @param {IdleThread} thread - that has nothing to do for the moment */
  noteIdle(thread) {
    this.#idle.add(thread)
    this.#makeRoom()
  }

  /** @param {IdleThread} thread - that has something to do again, or ends */
  noteBusy(thread) {
    this.#idle.delete(thread)
  }

  #makeRoom() {
    const [longest] = this.#idle
    if (longest === undefined || this.#queue.size <= this.#leaving) return
    this.#idle.delete(longest)
    this.#leaving++
    longest.end().finally(() => this.#leaving--)
  }
}
