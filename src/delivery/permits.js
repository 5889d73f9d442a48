/**
 * A counted resource with a first-come queue: whoever asks for several permits waits until all are free, and nobody
 * overtakes.
 */
export class Permits {
  #free
  #total
  /** @type {{ count: number, grant: () => void }[]} */
  #queue = []

  /** @param {number} total */
  constructor(total) {
    this.#free = total
    this.#total = total
  }

  /**
   * @param {number} count - at most the total
   * @returns {Promise<() => void>} gives the permits back; to be called once
   */
  async take(count) {
    if (count > this.#total) throw new RangeError('more permits than there are')
    await new Promise((resolve) => {
      this.#queue.push({ count, grant: () => resolve(undefined) })
      this.#serve()
    })
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#free += count
      this.#serve()
    }
  }

  #serve() {
    for (;;) {
      const [first] = this.#queue
      if (first === undefined || first.count > this.#free) return
      this.#queue.shift()
      this.#free -= first.count
      first.grant()
    }
  }
}
