import { grown } from './grown.js'

/** Whole numbers below 2^32, one added after the other. */
export class Uint32List {
  /** The first `length` of these count. Exchanged for a longer one as the list grows. */
  values
  length = 0

  /** @param {number} [room] - for so many numbers at first */
  constructor(room = 1024) {
    this.values = new Uint32Array(Math.max(room, 1))
  }

  /** @param {number} value */
  push(value) {
    if (this.length === this.values.length)
      this.values = grown(this.values, new Uint32Array(2 * this.length))
    this.values[this.length++] = value
  }

  /**
   * @param {number} index - below `length`
   * @returns {number}
   */
  at(index) {
    return /** @type {number} */ (this.values[index])
  }

  /** @returns {Uint32Array} a view of what is there now */
  toArray() {
    return this.values.subarray(0, this.length)
  }
}
