/** A literal that is an argument of its command: gathered in memory, up to a limit that the caller has checked. */
import { secretBytes } from '../../support/secret-bytes.js'

/** @typedef {import('./input-queue.js').InputQueue} InputQueue */

/** One buffered literal, from its first byte to its last. */
export class BufferedLiteral {
  /** The bytes that have come, and zeros behind them. */
  bytes
  /** Bytes that are still to come. */
  left

  /** @param {number} size - bytes */
  constructor(size) {
    this.bytes = secretBytes(size)
    this.left = size
  }

  /**
   * @param {InputQueue} input
   * @returns {boolean} whether it is whole
   */
  fillFrom(input) {
    while (this.left > 0) {
      const chunk = input.take(this.left)
      if (chunk === null) return false
      chunk.copy(this.bytes, this.bytes.length - this.left)
      // The chunk may hold a password, and whoever zeroes the literal does not know of this copy.
      chunk.fill(0)
      this.left -= chunk.length
    }
    return true
  }
}
