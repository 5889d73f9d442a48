/**
 * A growing buffer that responses are written into: one allocation for a page of responses, no strings joined. FETCH of
 * 100,000 flags goes through here.
 */

const FIRST_BYTES = 4096
const CRLF = '\r\n'

/** Appends bytes and text; `take` hands them over. */
export class ResponseWriter {
  #buffer
  #length = 0

  /** @param {number} [sizeBytes] - how much is likely to be written */
  constructor(sizeBytes = FIRST_BYTES) {
    this.#buffer = Buffer.allocUnsafeSlow(sizeBytes)
  }

  /** @returns {number} bytes written since the last `take` */
  get length() {
    return this.#length
  }

  /**
   * @param {string} text - characters up to U+00FF, one byte each
   * @returns {this}
   */
  ascii(text) {
    this.#reserve(text.length)
    if (text.length < 16) {
      for (let index = 0; index < text.length; index += 1)
        this.#buffer[this.#length + index] = text.charCodeAt(index)
    } else this.#buffer.write(text, this.#length, 'latin1')
    this.#length += text.length
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
    return this.ascii(String(number))
  }

  /** @returns {this} */
  endLine() {
    return this.ascii(CRLF)
  }

  /** @returns {Buffer} what was written; the writer is empty afterwards and never touches these bytes again */
  take() {
    const bytes = this.#buffer.subarray(0, this.#length)
    this.#buffer = this.#buffer.subarray(this.#length)
    this.#length = 0
    return bytes
  }

  /** @param {number} bytes - that are to be written next */
  #reserve(bytes) {
    const needed = this.#length + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#length * 2, FIRST_BYTES))
    this.#buffer.copy(larger, 0, 0, this.#length)
    this.#buffer = larger
  }
}
