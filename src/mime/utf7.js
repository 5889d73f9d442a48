/**
 * UTF-7 (RFC 2152), and the form of it that IMAP has for names (RFC 3501 §5.1.3). iconv-lite makes several objects of each
 * shifted stretch, and a mail may be millions of those.
 */
import { BASE64_ALPHABET } from '../support/base64-alphabet.js'

const HYPHEN = 0x2d
const BYTE_ORDER_MARK = 0xfeff
const REPLACEMENT = 0xfffd

/** The byte that opens a stretch of base64, by form. */
const SHIFT = { mail: 0x2b, imap: 0x26 }

const LETTER_VALUES = { mail: valuesOf(BASE64_ALPHABET), imap: valuesOf(BASE64_ALPHABET) }
// The form of IMAP has `,` in place of `/`, but mail has both in it.
LETTER_VALUES.imap[','.charCodeAt(0)] = 63

/**
 * @param {string} letters
 * @returns {Int8Array} the place of each byte among them, -1 for all others
 */
function valuesOf(letters) {
  const values = new Int8Array(256).fill(-1)
  for (let value = 0; value < letters.length; value++) values[letters.charCodeAt(value)] = value
  return values
}

/** The text of bytes that come in pieces. */
export class Utf7Decoder {
  #shift
  #values
  /** Whether a stretch of base64 is open. */
  #isShifted = false
  /** Whether the open stretch has no byte yet. */
  #isFresh = false
  /** The bits that have come of the incomplete unit. */
  #bits = 0
  #bitCount = 0
  #isBegun = false
  /** The first half of a surrogate pair, which the next piece may complete. */
  #half = ''

  /** @param {'mail' | 'imap'} form */
  constructor(form) {
    this.#shift = SHIFT[form]
    this.#values = LETTER_VALUES[form]
  }

  /**
   * @param {Uint8Array} bytes
   * @returns {string}
   */
  push(bytes) {
    const units = new Uint16Array(bytes.length)
    let length = 0
    for (const byte of bytes) {
      const unit = this.#isShifted ? this.#readShifted(byte) : this.#readPlain(byte)
      if (unit >= 0) units[length++] = unit
    }
    let first = 0
    if (length > 0 && !this.#isBegun) {
      this.#isBegun = true
      if (units[0] === BYTE_ORDER_MARK) first = 1
    }
    const text =
      this.#half + Buffer.from(units.buffer, 2 * first, 2 * (length - first)).toString('utf16le')
    this.#half = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : ''
    return text.slice(0, text.length - this.#half.length).toWellFormed()
  }

  /** @returns {string} */
  end() {
    return this.#half.toWellFormed()
  }

  /**
   * @param {number} byte
   * @returns {number} the UTF-16 unit that it completes; -1: none
   */
  #readPlain(byte) {
    if (byte === this.#shift) {
      this.#isShifted = this.#isFresh = true
      return -1
    }
    return byte < 0x80 ? byte : REPLACEMENT
  }

  /**
   * @param {number} byte
   * @returns {number} the UTF-16 unit that it completes; -1: none
   */
  #readShifted(byte) {
    const value = /** @type {number} */ (this.#values[byte])
    if (value >= 0) {
      this.#isFresh = false
      this.#bits = (this.#bits << 6) | value
      this.#bitCount += 6
      if (this.#bitCount < 16) return -1
      this.#bitCount -= 16
      const unit = this.#bits >>> this.#bitCount
      this.#bits &= (1 << this.#bitCount) - 1
      return unit
    }
    const isShiftItself = this.#isFresh && byte === HYPHEN
    this.#isShifted = false
    this.#bits = this.#bitCount = 0
    if (isShiftItself) return this.#shift
    return byte === HYPHEN ? -1 : this.#readPlain(byte)
  }
}
