/**
 * A place where one side of a connection waits for the other. Several may wait: a late reply of an APPEND and the next
 * command both wait until the client reads.
 */
export class Pause {
  /** @type {{ deadlineMs: number, resume: () => void }[]} */
  #waiting = []

  /**
   * @returns {number} time of the steady clock until which somebody waits here, milliseconds; Infinity: for as long as it takes,
   *   or nobody
   */
  get deadlineMs() {
    return this.#waiting.reduce((first, { deadlineMs }) => Math.min(first, deadlineMs), Infinity)
  }

  /**
   * Waits until `end` is called, for whatever reason: the caller then looks again. The deadline ends nothing by itself: the
   * owner of a clock compares it and calls `end`.
   *
   * @param {number} [deadlineMs] - of the steady clock
   */
  async until(deadlineMs = Infinity) {
    await new Promise((resolve) => {
      this.#waiting.push({ deadlineMs, resume: () => resolve(undefined) })
    })
  }

  /** Lets all who wait here go on; without any it does nothing. */
  end() {
    if (this.#waiting.length === 0) return
    const waiting = this.#waiting
    this.#waiting = []
    for (const { resume } of waiting) resume()
  }
}
