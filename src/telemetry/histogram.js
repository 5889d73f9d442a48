/**
 * A histogram that costs two additions for each observation: bounds are powers of two, so that counting bits finds the
 * bucket, and what Prometheus wants (labels, cumulative counts, text) is made when it asks.
 */

/** So many buckets have an upper bound; one more takes what is above all of them. */
const BOUNDED = 19

/** Counts by size. */
export class Histogram {
  #counts = new Float64Array(BOUNDED + 1)
  #firstBits
  #sum = 0

  /** @param {number} firstBits - the first bound is 2 to this power, the last one 2 to this and 18 */
  constructor(firstBits) {
    this.#firstBits = firstBits
  }

  /** @param {number} value - below 2^31; a fraction counts as the next whole number */
  observe(value) {
    const whole = Math.ceil(value)
    const bits = whole <= 1 ? 0 : 32 - Math.clz32(whole - 1)
    const index = Math.min(BOUNDED, Math.max(0, bits - this.#firstBits))
    this.#counts[index] = /** @type {number} */ (this.#counts[index]) + 1
    this.#sum += value
  }

  /** @returns {HistogramSnapshot} */
  snapshot() {
    return { counts: [...this.#counts], sum: this.#sum }
  }
}

/**
 * @typedef {object} HistogramSnapshot
 * @property {number[]} counts - of each bucket by itself
 * @property {number} sum - of all values
 */

/**
 * @param {number} firstBits
 * @returns {number[]} the upper bounds of all buckets but the last; a bucket includes its bound
 */
export function boundsOf(firstBits) {
  return Array.from({ length: BOUNDED }, (_, index) => 2 ** (firstBits + index))
}

/** `firstBits` of durations, which are counted in microseconds: bounds from 64 µs to 16.8 s. */
export const DURATION_BITS = 6

/** A histogram of durations, given in milliseconds. */
export class DurationHistogram extends Histogram {
  /** From 64 µs on. */
  constructor() {
    super(DURATION_BITS)
  }

  /** @param {number} ms */
  observeMs(ms) {
    this.observe(Math.min(ms * 1000, 2 ** 31 - 1))
  }
}
