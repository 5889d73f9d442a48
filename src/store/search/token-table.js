/**
 * Numbers for the tokens of a batch. A token is looked up where it stands in a longer text, by a hash that was computed
 * while that was gone through: no string is made, and none is hashed by the engine, for a token that is known already,
 * which nine of ten are (2,000 mails of 8 KB: a fifth of the time of a Set for each content and a Map for all).
 */
import { randomInt } from 'node:crypto'
import { grown } from '../../support/grown.js'

/** Of the table of hashes, a power of two. */
const INITIAL_SLOTS = 4096
const INITIAL_UNITS = 16_384

/** Different in each process: so nobody can prepare tokens that all have one hash. */
const HASH_SEED = randomInt(2 ** 32)
const HASH_FACTOR = randomInt(2 ** 29) * 8 + 5

/** The hash of nothing. */
export const EMPTY_HASH = HASH_SEED | 0

/**
 * @param {number} hash - of what stands before
 * @param {number} unit - UTF-16
 * @returns {number}
 */
export const hashWith = (hash, unit) => Math.imul(hash ^ unit, HASH_FACTOR)

/**
 * @param {string} text
 * @param {number} from
 * @param {number} to - exclusive
 * @returns {number} hash of what is between
 */
export function hashOf(text, from, to) {
  let hash = EMPTY_HASH
  for (let at = from; at < to; at++) hash = hashWith(hash, text.charCodeAt(at))
  return hash
}

/** Distinct tokens, numbered from 0 in the order in which they came. */
export class TokenTable {
  /** Number of the token + 1, by hash; the next free one when two have the same. */
  #slots = new Int32Array(INITIAL_SLOTS)
  /** @type {Int32Array} */
  #hashes = new Int32Array(INITIAL_SLOTS / 2)
  /** Where each begins in `#units`, and after them where the last one ends. */
  #starts = new Int32Array(INITIAL_SLOTS / 2 + 1)
  #units = new Uint16Array(INITIAL_UNITS)
  /** The mark that each was claimed with last. */
  #marks = new Int32Array(INITIAL_SLOTS / 2)
  #lastMark = 0
  size = 0

  /** @returns {number} for `claim`, another one each time */
  takeMark() {
    return ++this.#lastMark
  }

  /**
   * @param {number} token
   * @param {number} mark - the one that was taken last
   * @returns {boolean} whether it is the first time with this mark
   */
  claim(token, mark) {
    if (this.#marks[token] === mark) return false
    this.#marks[token] = mark
    return true
  }

  /**
   * @param {string} text
   * @param {number} from
   * @param {number} to - exclusive
   * @param {number} hash - of what is between
   * @returns {number} its number, -1 when it is not there
   */
  find(text, from, to, hash) {
    const token = /** @type {number} */ (this.#slots[this.#slotOf(text, from, to, hash)])
    return token - 1
  }

  /**
   * @param {string} text
   * @param {number} from
   * @param {number} to - exclusive
   * @param {number} hash - of what is between
   * @returns {number} its number, a new one when it was not there
   */
  add(text, from, to, hash) {
    const slot = this.#slotOf(text, from, to, hash)
    const known = /** @type {number} */ (this.#slots[slot])
    if (known > 0) return known - 1
    const token = this.size++
    const start = /** @type {number} */ (this.#starts[token])
    this.#makeRoom(start + to - from)
    for (let at = from; at < to; at++) this.#units[start + at - from] = text.charCodeAt(at)
    this.#starts[token + 1] = start + to - from
    this.#hashes[token] = hash
    this.#slots[slot] = token + 1
    if (this.size * 2 === this.#slots.length) this.#grow()
    return token
  }

  /**
   * @param {number} token
   * @returns {string}
   */
  textOf(token) {
    const units = this.#units.subarray(this.#starts[token], this.#starts[token + 1])
    // Spread, the same takes five times as long.
    return String.fromCharCode.apply(null, /** @type {number[]} */ (/** @type {unknown} */ (units)))
  }

  /**
   * @param {string} text
   * @param {number} from
   * @param {number} to
   * @param {number} hash
   * @returns {number} where the token is, or would be
   */
  #slotOf(text, from, to, hash) {
    const mask = this.#slots.length - 1
    for (let slot = firstSlot(hash, mask); ; slot = (slot + 1) & mask) {
      const token = /** @type {number} */ (this.#slots[slot]) - 1
      if (token === -1) return slot
      if (this.#hashes[token] === hash && this.#isAt(token, text, from, to)) return slot
    }
  }

  /**
   * @param {number} token
   * @param {string} text
   * @param {number} from
   * @param {number} to
   * @returns {boolean}
   */
  #isAt(token, text, from, to) {
    const start = /** @type {number} */ (this.#starts[token])
    if (/** @type {number} */ (this.#starts[token + 1]) - start !== to - from) return false
    for (let at = from; at < to; at++)
      if (this.#units[start + at - from] !== text.charCodeAt(at)) return false
    return true
  }

  /** @param {number} units - that there must be room for */
  #makeRoom(units) {
    if (units > this.#units.length)
      this.#units = grown(this.#units, new Uint16Array(Math.max(units, this.#units.length * 2)))
  }

  #grow() {
    const tokens = this.#slots.length
    this.#hashes = grown(this.#hashes, new Int32Array(tokens))
    this.#marks = grown(this.#marks, new Int32Array(tokens))
    this.#starts = grown(this.#starts, new Int32Array(tokens + 1))
    const slots = new Int32Array(tokens * 2)
    const mask = slots.length - 1
    for (let token = 0; token < this.size; token++) {
      let slot = firstSlot(/** @type {number} */ (this.#hashes[token]), mask)
      while (slots[slot] !== 0) slot = (slot + 1) & mask
      slots[slot] = token + 1
    }
    this.#slots = slots
  }
}

/**
 * @param {number} hash - whose high bits are the better ones
 * @param {number} mask
 * @returns {number}
 */
const firstSlot = (hash, mask) => (hash ^ (hash >>> 15)) & mask
