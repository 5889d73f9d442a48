/**
 * Attempts that wait, by key, for the outcome of others: woken one by one, in the order in which they came.
 */

/** Waiters of each key; an entry is there as long as somebody waits. */
export class OutcomeQueue {
  /** @type {Map<string, (() => void)[]>} */
  #waiting = new Map()

  /**
   * @param {string} key
   * @returns {number} how many wait for that key
   */
  size(key) {
    return this.#waiting.get(key)?.length ?? 0
  }

  /**
   * @param {string} key
   * @returns {Promise<void>} resolves when it is this waiter's turn
   */
  wait(key) {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(key)
      if (waiting) waiting.push(resolve)
      else this.#waiting.set(key, [resolve])
    })
  }

  /** @param {string} key - whose first waiter is woken, if there is one */
  wakeNext(key) {
    const waiting = this.#waiting.get(key)
    waiting?.shift()?.()
    if (waiting?.length === 0) this.#waiting.delete(key)
  }
}
