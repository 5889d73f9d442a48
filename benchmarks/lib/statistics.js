/**
 * The few figures that a report needs, without assumptions about how the samples are spread.
 */

/**
 * @param {readonly number[]} samples - in any order
 * @param {number} share - from 0 to 1
 * @returns {number} the nearest-rank percentile; NaN for no samples
 */
export function percentile(samples, share) {
  if (samples.length === 0) return Number.NaN
  const sorted = Float64Array.from(samples).sort()
  const rank = Math.max(1, Math.ceil(share * sorted.length))
  return /** @type {number} */ (sorted[rank - 1])
}

/**
 * @param {readonly number[]} samples
 * @returns {number} the middle one, or the mean of the two in the middle; NaN for no samples
 */
export function median(samples) {
  if (samples.length === 0) return Number.NaN
  const sorted = Float64Array.from(samples).sort()
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  const lower = sorted.length % 2 === 1 ? upper : (sorted[middle - 1] ?? Number.NaN)
  return (lower + upper) / 2
}

/**
 * @typedef {object} Summary
 * @property {number} count - samples
 * @property {number} median
 * @property {number} p99
 * @property {number} minimum
 * @property {number} maximum
 */

/**
 * @param {readonly number[]} samples - at least one
 * @returns {Summary}
 */
export function summarize(samples) {
  return {
    count: samples.length,
    median: median(samples),
    p99: percentile(samples, 0.99),
    minimum: percentile(samples, 0),
    maximum: percentile(samples, 1)
  }
}
