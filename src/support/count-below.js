/**
 * Binary search in sorted lists of numbers.
 */

/**
 * @param {Readonly<Uint32Array>} sorted - ascending, as far as `end`
 * @param {number} value
 * @param {number} [end] - elements that count; default: all
 * @returns {number} how many elements are below the value: the place of the first that is not
 */
export function countBelow(sorted, value, end = sorted.length) {
  let low = 0
  let high = end
  while (low < high) {
    const middle = (low + high) >>> 1
    if (/** @type {number} */ (sorted[middle]) < value) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * The same for whoever goes through the list: for a place near `start` it takes a few steps, however long the list is.
 *
 * @param {Readonly<Uint32Array>} sorted - ascending, as far as `end`
 * @param {number} value
 * @param {number} start - all elements before it are below the value
 * @param {number} end - elements that count
 * @returns {number} how many elements are below the value
 */
export function countBelowFrom(sorted, value, start, end) {
  let low = start
  let step = 1
  while (low < end && /** @type {number} */ (sorted[low]) < value) {
    start = low + 1
    low += step
    step *= 2
  }
  let high = Math.min(low, end)
  while (start < high) {
    const middle = (start + high) >>> 1
    if (/** @type {number} */ (sorted[middle]) < value) start = middle + 1
    else high = middle
  }
  return start
}
