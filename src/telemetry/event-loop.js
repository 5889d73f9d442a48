/**
 * How late the event loop comes to what waits for it, over the last seconds: the one figure that shows every call which
 * took too long, whoever made it.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks'

/** Time between two samples, ms: the histogram's timer costs some microseconds each time. */
const RESOLUTION_MS = 20
/** Length of a window, ms: figures are of the last whole one. */
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
    // The histogram counts from timer to timer, so the interval is taken off; before the first sample, its minimum is huge.
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
