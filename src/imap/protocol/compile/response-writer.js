/**
 * A growing buffer that responses are written into: one allocation for a page of responses, no strings joined. FETCH of
 * 100,000 flags goes through here.
 */

import { NUMBER_BYTES, putNumber, putText } from './put.js'

/** A short answer gets so many bytes: a piece of Node's pool, which is many times cheaper than memory of its own. */
const FIRST_BYTES = 4096
const NO_BYTES = Buffer.alloc(0)
const CRLF = '\r\n'

/** Appends bytes and text; `peek` shows them, and `endAt` makes room for what comes next. */
export class ResponseWriter {
  #buffer = NO_BYTES
  #length = 0

  /** @returns {number} bytes that are in it */
  get length() {
    return this.#length
  }

  /**
   * @param {string} text - characters up to U+00FF, one byte each
   * @returns {this}
   */
  ascii(text) {
    const { length } = text
    this.#reserve(length)
    if (length < 24) putText(this.#buffer, this.#length, text)
    else this.#buffer.write(text, this.#length, 'latin1')
    this.#length += length
    return this
  }

  /**
   * @param {Buffer} bytes
   * @returns {this}
   */
  bytes(bytes) {
    this.#reserve(bytes.length)
    bytes.copy(this.#buffer, this.#length)
    this.#length += bytes.length
    return this
  }

  /**
   * @param {number} number - an integer from 0 to Number.MAX_SAFE_INTEGER
   * @returns {this}
   */
  number(number) {
    this.#reserve(NUMBER_BYTES)
    this.#length = putNumber(this.#buffer, this.#length, number)
    return this
  }

  /** @returns {this} */
  endLine() {
    return this.ascii(CRLF)
  }

  /**
   * Makes room for bytes that the caller writes by himself.
   *
   * @param {number} bytes
   * @param {(target: Buffer, at: number) => void} write - exactly as many, from `at`
   * @param {number} [spare] - bytes behind these that may be written to and do not count
   * @returns {this}
   */
  direct(bytes, write, spare = 0) {
    this.#reserve(bytes + spare)
    write(this.#buffer, this.#length)
    this.#length += bytes
    return this
  }

  /**
   * Makes room for bytes whose number the caller knows only once he has written them, and then tells by `endAt`.
   *
   * @param {number} bytes - at most
   * @returns {Buffer} what is written into, from `length` on
   */
  room(bytes) {
    this.#reserve(bytes)
    return this.#buffer
  }

  /**
   * Moves the end: behind what was written into the `room`, or back to where it was, which forgets the rest.
   *
   * @param {number} length
   */
  endAt(length) {
    this.#length = length
  }

  /** @returns {Buffer} what was written, valid until something else is */
  peek() {
    return this.#buffer.subarray(0, this.#length)
  }

  /** @param {number} bytes - that are to be written next */
  #reserve(bytes) {
    const needed = this.#length + bytes
    if (needed <= this.#buffer.length) return
    const size = Math.max(needed, this.#length * 2, FIRST_BYTES)
    const larger = size > FIRST_BYTES ? Buffer.allocUnsafeSlow(size) : Buffer.allocUnsafe(size)
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
