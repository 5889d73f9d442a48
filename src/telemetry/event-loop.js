/**
 * How late the event loop comes to what waits for it, over the last seconds: the one figure that tells of every call
 * that was too long, whoever made it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Time between two samples, ms: the histogram's timer costs some microseconds each time. */
const RESOLUTION_MS = 20
/** Figures are of the last whole window, ms. */
const WINDOW_MS = 10_000

/**
 * @typedef {object} EventLoopFigures - of the last whole window, ms
 * @property {number} p50Ms
 * @property {number} p99Ms
 * @property {number} maxMs
 */

/** Measures from its making until `close`. */
export class EventLoopMeter {
  #histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  #timer
  /** @type {EventLoopFigures | null} */
  #last = null

  /** Begins at once. */
  constructor() {
    this.#histogram.enable()
    this.#timer = setInterval(() => {
      this.#last = this.#read()
      this.#histogram.reset()
    }, WINDOW_MS)
    this.#timer.unref()
  }

  /** @returns {EventLoopFigures} */
  get figures() {
    return this.#last ?? this.#read()
  }

  #read() {
    // The histogram has the timer's own interval in it, and before the first sample its minimum is a huge number.
    const late = (/** @type {number} */ ns) => Math.max(0, ns / 1e6 - RESOLUTION_MS)
    const { count } = this.#histogram
    if (count === 0) return { p50Ms: 0, p99Ms: 0, maxMs: 0 }
    return {
      p50Ms: late(this.#histogram.percentile(50)),
      p99Ms: late(this.#histogram.percentile(99)),
      maxMs: late(this.#histogram.max)
    }
  }

  /** Stops measuring. */
  close() {
    clearInterval(this.#timer)
    this.#histogram.disable()
  }
}
