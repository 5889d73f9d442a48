/**
 * Lists of ascending numbers as bytes: the differences, seven bits a byte, the lowest first.
 */
import { grown } from '../../support/grown.js'

/** Numbers that there is room for at first. */
const INITIAL_POSTINGS = 4096

/** Bytes of the largest number below 2^35. */
const MAX_BYTES = 5

const MAX_INT32 = 2 ** 31 - 1

/** Bytes that grow. */
export class ByteSink {
  #bytes
  #length = 0

  /** @param {number} room - bytes to begin with */
  constructor(room) {
    this.#bytes = Buffer.allocUnsafeSlow(room)
  }

  /** @returns {number} */
  get length() {
    return this.#length
  }

  /** @param {number} value - whole, not negative, below 2^35 */
  pushNumber(value) {
    this.#makeRoom(MAX_BYTES)
    this.#length = writeNumber(this.#bytes, this.#length, value)
  }

  /**
   * @param {ArrayLike<number>} list - ascending, each once
   * @param {{ from: number, to: number }} [range] - of `list`; all by default
   * @returns {number} bytes that it takes
   */
  pushList(list, { from, to } = { from: 0, to: list.length }) {
    this.#makeRoom((to - from) * MAX_BYTES)
    const bytes = this.#bytes
    let length = this.#length
    let last = 0
    for (let at = from; at < to; at++) {
      const value = /** @type {number} */ (list[at])
      const delta = value - last
      // Most are small: common terms are in many messages.
      if (delta <= 0x7f) bytes[length++] = delta
      else length = writeNumber(bytes, length, delta)
      last = value
    }
    const added = length - this.#length
    this.#length = length
    return added
  }

  /** @param {Buffer} bytes */
  pushBytes(bytes) {
    this.#makeRoom(bytes.length)
    bytes.copy(this.#bytes, this.#length)
    this.#length += bytes.length
  }

  /** @param {number} byte */
  pushByte(byte) {
    this.#makeRoom(1)
    this.#bytes[this.#length++] = byte
  }

  /** @param {string} text - a character a byte */
  pushBinary(text) {
    this.#makeRoom(text.length)
    this.#length += this.#bytes.write(text, this.#length, 'latin1')
  }

  /**
   * @param {number} [count] - bytes to take away from the beginning; all by default
   * @returns {Buffer} a copy
   */
  take(count = this.#length) {
    const taken = Buffer.from(this.#bytes.subarray(0, count))
    this.#bytes.copyWithin(0, count, this.#length)
    this.#length -= count
    return taken
  }

  /** @param {number} count */
  #makeRoom(count) {
    if (this.#length + count <= this.#bytes.length) return
    const bytes = Buffer.allocUnsafeSlow(Math.max(this.#bytes.length * 2, this.#length + count))
    this.#bytes.copy(bytes, 0, 0, this.#length)
    this.#bytes = bytes
  }
}

/**
 * @param {Uint8Array} bytes
 * @param {number} at - where in them
 * @param {number} value - whole, not negative, below 2^35
 * @returns {number} where it ends
 */
function writeNumber(bytes, at, value) {
  let end = at
  let left = value
  while (left > 0x7f) {
    bytes[end++] = (left & 0x7f) | 0x80
    left = left > MAX_INT32 ? Math.floor(left / 128) : left >>> 7
  }
  bytes[end++] = left
  return end
}

/**
 * @param {Uint8Array} bytes - of one list
 * @returns {Int32Array} ascending
 */
export function decodeList(bytes) {
  const list = new Int32Array(bytes.length)
  return list.subarray(0, decodeListInto(bytes, list))
}

/**
 * @param {Uint8Array} bytes - of one list
 * @param {Int32Array} list - with room for as many numbers as there are bytes
 * @param {object} [options]
 * @param {number} [options.at] - where in `list` the first one goes
 * @param {number} [options.shift] - added to each of them
 * @returns {number} where in `list` they end
 */
export function decodeListInto(bytes, list, { at = 0, shift = 0 } = {}) {
  let end = at
  let value = shift
  for (let from = 0; from < bytes.length;) {
    let byte = /** @type {number} */ (bytes[from++])
    let delta = byte & 0x7f
    for (let bits = 7; byte > 0x7f && from < bytes.length; bits += 7) {
      byte = /** @type {number} */ (bytes[from++])
      delta |= (byte & 0x7f) << bits
    }
    value += delta
    list[end++] = value
  }
  return end
}

/** Gathers the numbers of several lists, one list behind the other. */
export class PostingList {
  #numbers = new Int32Array(INITIAL_POSTINGS)
  length = 0

  /** @returns {Int32Array} those that are in it: good until more come */
  get numbers() {
    return this.#numbers.subarray(0, this.length)
  }

  /**
   * @param {Uint8Array} bytes - of one list
   * @param {number} shift - added to each of its numbers
   */
  pushEncoded(bytes, shift) {
    const needed = this.length + bytes.length
    if (needed > this.#numbers.length)
      this.#numbers = grown(
        this.#numbers,
        new Int32Array(Math.max(needed, this.#numbers.length * 2))
      )
    this.length = decodeListInto(bytes, this.#numbers, { at: this.length, shift })
  }
}

/** Reads numbers from the beginning of bytes. */
export class NumberReader {
  #bytes
  at = 0

  /** @param {Buffer} bytes */
  constructor(bytes) {
    this.#bytes = bytes
  }

  /** @returns {number} */
  next() {
    let value = 0
    let scale = 1
    for (;;) {
      const byte = this.#bytes[this.at++]
      if (byte === undefined) throw new RangeError('number beyond the end')
      // Multiplied, because offsets may exceed 32 bits.
      value += (byte & 0x7f) * scale
      if (byte < 0x80) return value
      scale *= 128
    }
  }
}
