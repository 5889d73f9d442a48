/**
 * Holds a stream of bytes to so many a second, on average.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** After a pause, the bytes of so many seconds may pass at once. */
const BURST_SECONDS = 0.25

/** Lets so many bytes pass a second; 0 means no limit. */
export class RateLimit {
  #bytesPerSecond
  /** When what has passed so far will have been allowed to pass, ms of the monotonic clock. */
  #paidUntilMs = 0

  /** @param {number} bytesPerSecond */
  constructor(bytesPerSecond) {
    this.#bytesPerSecond = bytesPerSecond
  }

  /**
   * @param {number} bytes - that are about to pass
   * @returns {Promise<void>} when they may
   */
  async take(bytes) {
    if (this.#bytesPerSecond === 0) return
    const nowMs = performance.now()
    const earliestMs = nowMs - BURST_SECONDS * 1000
    this.#paidUntilMs =
      Math.max(this.#paidUntilMs, earliestMs) + (bytes / this.#bytesPerSecond) * 1000
    const waitMs = this.#paidUntilMs - nowMs
    if (waitMs > 1) await sleep(waitMs)
  }

  /**
   * @param {AsyncIterable<Buffer>} source
   * @yields {Buffer}
   */
  async *throttle(source) {
    for await (const chunk of source) {
      await this.take(chunk.length)
      yield chunk
    }
  }
}
