/**
 * Sets of postings of one segment, as ascending lists.
 */

/** @typedef {Int32Array} PostingList - ascending, each once */

export const NO_POSTINGS = new Int32Array(0)

/** Postings below this are kept as a set of bits: 2 MB. */
const MAX_BITS = 2 ** 24

/** Puts together the lists of many terms. */
export class PostingUnion {
  #bits
  /** @type {number[]} what is beyond the bits */
  #others = []
  #count = 0

  /** @param {number} end - above the highest posting */
  constructor(end) {
    this.#bits = new Uint8Array(Math.ceil(Math.min(end, MAX_BITS) / 8))
  }

  /**
   * @param {Uint8Array} bytes - of a list (see postings.js)
   */
  addBytes(bytes) {
    const bits = this.#bits
    let value = 0
    for (let at = 0; at < bytes.length;) {
      let byte = /** @type {number} */ (bytes[at++])
      let delta = byte & 0x7f
      for (let shift = 7; byte > 0x7f && at < bytes.length; shift += 7) {
        byte = /** @type {number} */ (bytes[at++])
        delta |= (byte & 0x7f) << shift
      }
      value += delta
      const place = value >> 3
      if (place < bits.length)
        bits[place] = /** @type {number} */ (bits[place]) | (1 << (value & 7))
      else this.#others.push(value)
      this.#count++
    }
  }

  /** @param {PostingList} list */
  add(list) {
    const bits = this.#bits
    for (const value of list) {
      const place = value >> 3
      if (place < bits.length)
        bits[place] = /** @type {number} */ (bits[place]) | (1 << (value & 7))
      else this.#others.push(value)
    }
    this.#count += list.length
  }

  /** @returns {PostingList} */
  toList() {
    if (this.#count === 0) return NO_POSTINGS
    const bits = this.#bits
    // A letter is in a hundred words of each text: many more postings were added than are distinct.
    const room = Math.min(this.#count, bits.length * 8 + this.#others.length)
    const list = new Int32Array(room)
    let count = 0
    for (let place = 0; place < bits.length; place++) {
      for (let left = /** @type {number} */ (bits[place]); left !== 0; left &= left - 1)
        list[count++] = place * 8 + (31 - Math.clz32(left & -left))
    }
    this.#others.sort((left, right) => left - right)
    let last = -1
    for (const value of this.#others) {
      if (value !== last) list[count++] = value
      last = value
    }
    return list.subarray(0, count)
  }
}

/**
 * @param {PostingList} left
 * @param {PostingList} right
 * @returns {PostingList} those in both
 */
export function intersectPostings(left, right) {
  const both = new Int32Array(Math.min(left.length, right.length))
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
