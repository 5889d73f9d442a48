/**
 * What a server has to close when it ends, or when its start fails half-way.
 */

/** @typedef {() => Promise<unknown>} CloseOne */

/** A stack of what was started. */
export class Closers {
  /** @type {CloseOne[]} */
  #closers = []
  #logger
  /** Whether `close` was called. */
  isClosing = false

  /** @param {import('../telemetry/logger.js').Logger} logger */
  constructor(logger) {
    this.#logger = logger
  }

  /** @param {CloseOne} closeOne - closes what has just been started; it is called before those that were added earlier */
  add(closeOne) {
    this.#closers.push(closeOne)
  }

  /**
   * Closes all of them, also where one fails: keys in memory, and what is not written yet, wait for the rest.
   *
   * @throws the first failure, once all have been closed; the log has every one
   */
  async close() {
    this.isClosing = true
    /** @type {unknown[]} */
    const failures = []
    for (const closeOne of this.#closers.splice(0).reverse()) {
      try {
        await closeOne()
      } catch (err) {
        this.#logger.error({ err }, 'a part of the server did not close')
        failures.push(err)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
