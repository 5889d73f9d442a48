/**
 * Who uses the open file of one account: whoever closes it waits for all that is under way, whoever would have it sleep asks
 * how long nobody has used it, and whoever looks after it makes way for those who write.
 */
import { Writers } from '../database/writers.js'

/** Of one open file, also while it sleeps. */
export class FileUse {
  /** Reads and writes that are under way. */
  #active = 0
  /** @type {(() => void) | null} */
  #whenOver = null
  #lastUseMs = performance.now()
  #lastWriteMs = performance.now()
  /** @type {Set<() => void>} */
  #writeListeners = new Set()
  /** Writes seen so far, our own and those of others. */
  writeCount = 0
  /** For the threads of this file. */
  writers = new Writers()

  /** @returns {boolean} whether anything is under way */
  get isActive() {
    return this.#active > 0
  }

  /** @returns {number} how long ago it was last read or written here, milliseconds; 0 while that is under way */
  get idleMs() {
    return this.isActive ? 0 : performance.now() - this.#lastUseMs
  }

  /** @returns {number} how long ago anybody wrote, milliseconds */
  get quietMs() {
    return performance.now() - this.#lastWriteMs
  }

  /** To be called when a read or write begins. */
  begin() {
    this.#active++
  }

  /** To be called when it is over, however it ended. */
  end() {
    this.#active--
    this.#lastUseMs = performance.now()
    if (!this.isActive) this.#whenOver?.()
  }

  /**
   * @template T
   * @param {() => Promise<T>} work - that counts as no use when it is over
   * @returns {Promise<T>}
   */
  async unnoticed(work) {
    const lastUseMs = this.#lastUseMs
    try {
      return await work()
    } finally {
      if (!this.isActive) this.#lastUseMs = lastUseMs
    }
  }

  /** Waits for what is under way; nothing more may begin. */
  async over() {
    if (this.isActive) await new Promise((resolve) => (this.#whenOver = () => resolve(undefined)))
  }

  /**
   * @param {() => void} listener - called whenever a write is about to begin here, before it asks for the lock: work
   *   that stands in its way can go
   * @returns {() => void} ends that
   */
  onWrite(listener) {
    this.#writeListeners.add(listener)
    return () => this.#writeListeners.delete(listener)
  }

  /** To be called before a write of our own; of a thread's, too. */
  announceWrite() {
    this.noteWrite()
    this.writers.noteBegun()
    for (const listener of this.#writeListeners) listener()
  }

  /** To be called when somebody has written, or is about to. */
  noteWrite() {
    this.#lastWriteMs = performance.now()
    this.writeCount++
  }
}
