/** A place where one side of a connection waits for the other. */
export class Pause {
  /** @type {(() => void) | null} */
  #resume = null
  /** Wall-clock time until which somebody waits here, milliseconds; Infinity: for as long as it takes, or nobody. */
  deadlineMs = Infinity

  /**
   * Waits until `end` is called, for whatever reason: who waits looks again. The deadline ends nothing by itself, whoever
   * has a clock looks at it.
   *
   * @param {number} [deadlineMs] - wall-clock time
   */
  async until(deadlineMs = Infinity) {
    this.deadlineMs = deadlineMs
    await new Promise((resolve) => {
      this.#resume = () => resolve(undefined)
    })
    this.#resume = null
    this.deadlineMs = Infinity
  }

  /** Lets who waits here go on; without one it does nothing. */
  end() {
    this.#resume?.()
  }
}
