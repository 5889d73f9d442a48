/**
 * Sorted lists of content ids: what the index answers, and how answers are put together. Linear, without a set in
 * memory for each of them.
 */

/** @typedef {Float64Array} IdList - ascending, each once */

export const NO_IDS = new Float64Array(0)

/**
 * @param {IdList} left
 * @param {IdList} right
 * @returns {IdList} those in both
 */
export function intersect(left, right) {
  const both = new Float64Array(Math.min(left.length, right.length))
  let count = 0
  for (let a = 0, b = 0; a < left.length && b < right.length;) {
    const x = /** @type {number} */ (left[a])
    const y = /** @type {number} */ (right[b])
    if (x === y) both[count++] = x
    if (x <= y) a++
    if (y <= x) b++
  }
  return both.subarray(0, count)
}

/**
 * @param {IdList} left
 * @param {IdList} right
 * @returns {IdList} those in either
 */
export function unite(left, right) {
  if (left.length === 0) return right
  if (right.length === 0) return left
  const all = new Float64Array(left.length + right.length)
  let count = 0
  for (let a = 0, b = 0; a < left.length || b < right.length;) {
    const x = left[a] ?? Infinity
    const y = right[b] ?? Infinity
    all[count++] = Math.min(x, y)
    if (x <= y) a++
    if (y <= x) b++
  }
  return all.subarray(0, count)
}

/**
 * @param {IdList} list
 * @param {number} id
 * @returns {boolean}
 */
export function includes(list, id) {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (/** @type {number} */ (list[middle]) < id) low = middle + 1
    else high = middle
  }
  return list[low] === id
}
