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

/** Ids that lie within a range of at most so many are kept as a set of bits: 8 MB at the very most. */
const MAX_BITS = 2 ** 26

/** A list of at most so many ids is searched itself, without a set of bits. */
const FEW_IDS = 16

/** A list that is asked for many ids. */
export class IdSet {
  #list
  #first
  #last
  /** @type {Uint8Array | null} */
  #bits = null

  /** @param {IdList} list */
  constructor(list) {
    this.#list = list
    this.#first = list[0] ?? 0
    this.#last = list[list.length - 1] ?? -1
    const span = this.#last - this.#first + 1
    if (list.length <= FEW_IDS || span > MAX_BITS || span > list.length * 4096) return
    this.#bits = new Uint8Array(Math.ceil(span / 8))
    for (let at = 0; at < list.length; at++) {
      const place = /** @type {number} */ (list[at]) - this.#first
      this.#bits[place >> 3] = /** @type {number} */ (this.#bits[place >> 3]) | (1 << (place & 7))
    }
  }

  /**
   * @param {number} id
   * @returns {boolean}
   */
  has(id) {
    if (id < this.#first || id > this.#last) return false
    if (!this.#bits) return includes(this.#list, id)
    const place = id - this.#first
    return (((this.#bits[place >> 3] ?? 0) >> (place & 7)) & 1) === 1
  }
}

/**
 * @param {IdList} list
 * @param {number} id
 * @returns {boolean}
 */
function includes(list, id) {
  let low = 0
  let high = list.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (/** @type {number} */ (list[middle]) < id) low = middle + 1
    else high = middle
  }
  return list[low] === id
}
