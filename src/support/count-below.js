/**
 * A place in a sorted list of numbers, by halves.
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
