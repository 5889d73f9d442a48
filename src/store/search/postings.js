/**
 * Lists of ascending numbers as bytes: the differences, seven bits a byte, the lowest first.
 */

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
    const bytes = this.#bytes
    let left = value
    while (left > 0x7f) {
      bytes[this.#length++] = (left & 0x7f) | 0x80
      left = left > MAX_INT32 ? Math.floor(left / 128) : left >>> 7
    }
    bytes[this.#length++] = left
  }

  /**
   * @param {ArrayLike<number>} list - ascending, each once
   * @param {{ from: number, to: number }} [range] - of `list`; all by default
   * @returns {number} bytes that it takes
   */
  pushList(list, { from, to } = { from: 0, to: list.length }) {
    const before = this.#length
    let last = 0
    for (let at = from; at < to; at++) {
      const value = /** @type {number} */ (list[at])
      this.pushNumber(value - last)
      last = value
    }
    return this.#length - before
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
 * @param {Uint8Array} bytes - of one list
 * @returns {Int32Array} ascending
 */
export function decodeList(bytes) {
  const list = new Int32Array(bytes.length)
  let count = 0
  let value = 0
  for (let at = 0; at < bytes.length;) {
    let byte = /** @type {number} */ (bytes[at++])
    let delta = byte & 0x7f
    for (let shift = 7; byte > 0x7f && at < bytes.length; shift += 7) {
      byte = /** @type {number} */ (bytes[at++])
      delta |= (byte & 0x7f) << shift
    }
    value += delta
    list[count++] = value
  }
  return list.subarray(0, count)
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
