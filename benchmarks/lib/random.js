/**
 * A seeded source of numbers, so that two runs, and two contenders of one run, see the same work.
 */

/** Mulberry32: 32 bits of state, fast, and good enough to choose words and messages. */
export class Random {
  #state

  /** @param {number} seed - a 32-bit number */
  constructor(seed) {
    this.#state = seed >>> 0
  }

  /** @returns {number} from 0 to 2^32 - 1 */
  next() {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }

  /** @returns {number} from 0 up to 1, exclusive */
  fraction() {
    return this.next() / 4294967296
  }

  /**
   * @param {number} bound
   * @returns {number} an integer from 0 up to the bound, exclusive
   */
  below(bound) {
    return Math.floor(this.fraction() * bound)
  }

  /**
   * @template T
   * @param {readonly T[]} choices - at least one
   * @returns {T}
   */
  pick(choices) {
    return /** @type {T} */ (choices[this.below(choices.length)])
  }

  /** @returns {number} normally distributed, mean 0, deviation 1 (Box and Muller) */
  normal() {
    const radius = Math.sqrt(-2 * Math.log(1 - this.fraction()))
    return radius * Math.cos(2 * Math.PI * this.fraction())
  }

  /**
   * @param {number} size - bytes
   * @returns {Buffer} bytes that do not compress
   */
  bytes(size) {
    const buffer = Buffer.alloc(size + 4)
    for (let at = 0; at < size; at += 4) buffer.writeUInt32LE(this.next(), at)
    return buffer.subarray(0, size)
  }
}

/**
 * @param {number} seed
 * @param {number} index
 * @returns {number} a seed of its own for the message, record or client with that number
 */
export const seedFor = (seed, index) =>
  (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35)) >>> 0
