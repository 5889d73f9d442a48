/**
 * A secret in memory of its own: never a view of Node's shared pool, zeroed when it is disposed of, and
 * silent when somebody logs, prints or serialises it.
 */
import { randomFillSync } from 'node:crypto'
import { inspect } from 'node:util'
import { secretBytes } from '../support/secret-bytes.js'

const REDACTED = '[secret]'

/** Bytes that are zeroed by `dispose()`, or at the end of a `using` block. */
export class SecretBuffer {
  /** @type {Buffer | null} */
  #bytes

  /** @param {Buffer} bytes - taken over, not copied */
  constructor(bytes) {
    this.#bytes = bytes
  }

  /**
   * @param {number} size - bytes
   * @returns {SecretBuffer} zeros
   */
  static alloc(size) {
    return new SecretBuffer(secretBytes(size))
  }

  /**
   * @param {number} size - bytes
   * @returns {SecretBuffer} random bytes
   */
  static random(size) {
    return new SecretBuffer(randomFillSync(secretBytes(size)))
  }

  /**
   * @param {Uint8Array} bytes - stay as they are; the caller zeroes its own
   * @returns {SecretBuffer}
   */
  static copyOf(bytes) {
    const copy = secretBytes(bytes.length)
    copy.set(bytes)
    return new SecretBuffer(copy)
  }

  /**
   * @param {Uint8Array} bytes - zeroed, now that the secret lives here
   * @returns {SecretBuffer}
   */
  static moveFrom(bytes) {
    const secret = SecretBuffer.copyOf(bytes)
    bytes.fill(0)
    return secret
  }

  /**
   * @returns {Buffer} the bytes themselves, valid until `dispose()`
   * @throws {Error} once disposed of: a zeroed key must never be used as a key
   */
  get bytes() {
    if (!this.#bytes) throw new Error('The secret was disposed of')
    return this.#bytes
  }

  /** @returns {number} size in bytes; 0 once disposed of */
  get length() {
    return this.#bytes?.length ?? 0
  }

  /** @returns {boolean} */
  get isDisposed() {
    return this.#bytes === null
  }

  /** @returns {SecretBuffer} a second one, with a life of its own */
  clone() {
    return SecretBuffer.copyOf(this.bytes)
  }

  /** Zeroes the bytes; a second call does nothing. */
  dispose() {
    this.#bytes?.fill(0)
    this.#bytes = null
  }

  /** Ends a `using` block. */
  [Symbol.dispose]() {
    this.dispose()
  }

  /** @returns {string} */
  toString() {
    return REDACTED
  }

  /** @returns {string} */
  toJSON() {
    return REDACTED
  }

  /** @returns {string} */
  [inspect.custom]() {
    return REDACTED
  }
}
