/**
 * A growing buffer for IMAP wire bytes. Header text is handled as byte strings (one character a byte, as in
 * latin1): the charset of a header is not known, and an ENVELOPE hands the text on as it came.
 *
 * @typedef {string} ByteString - each character stands for one byte (code 0 to 255)
 */
import { MAX_QUOTED_BYTES } from './limits.js'

/** Characters that a quoted string may not hold, and those that it may hold only escaped. */
// eslint-disable-next-line no-control-regex
const NEEDS_LITERAL = /[\x00\r\n\x80-\xff]/
const NEEDS_ESCAPE = /["\\]/

/**
 * RFC 9051 §9 `string`: quoted where its characters allow it, else a literal. NUL can be in neither and is left out.
 *
 * @param {ByteString} text
 * @returns {ByteString} as it goes over the wire
 */
export function imapString(text) {
  if (text.length > MAX_QUOTED_BYTES || NEEDS_LITERAL.test(text)) {
    const clean = text.replaceAll('\0', '')
    return `{${clean.length}}\r\n${clean}`
  }
  return NEEDS_ESCAPE.test(text) ? `"${text.replace(/["\\]/g, '\\$&')}"` : `"${text}"`
}

/** Collects byte strings and numbers and gives back one Buffer. */
export class ByteWriter {
  /** @param {number} [sizeBytes] - expected size */
  constructor(sizeBytes = 1024) {
    this.bytes = Buffer.allocUnsafe(sizeBytes)
    this.length = 0
  }

  /** @param {number} sizeBytes - room wanted behind the written bytes */
  reserve(sizeBytes) {
    if (this.length + sizeBytes <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + sizeBytes))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** @param {ByteString} text - written as it is */
  raw(text) {
    this.reserve(text.length)
    this.length += this.bytes.write(text, this.length, 'latin1')
  }

  /** @param {Uint8Array} bytes - written as they are */
  append(bytes) {
    this.reserve(bytes.length)
    this.bytes.set(bytes, this.length)
    this.length += bytes.length
  }

  /** @param {number} value - 0 to 255 */
  byte(value) {
    this.reserve(1)
    this.bytes[this.length++] = value
  }

  /**
   * An unsigned number in groups of seven bits, lowest first, the top bit set on all but the last.
   * @param {number} value - 0 to 2^53 - 1
   */
  varint(value) {
    this.reserve(8)
    let rest = value
    while (rest >= 0x80) {
      this.bytes[this.length++] = (rest % 0x80) | 0x80
      rest = Math.floor(rest / 0x80)
    }
    this.bytes[this.length++] = rest
  }

  /**
   * RFC 9051 §9 `nstring`: NIL, or a string.
   * @param {ByteString | null | undefined} text
   */
  nstring(text) {
    if (text === null || text === undefined) this.raw('NIL')
    else this.string(text)
  }

  /** @param {ByteString} text */
  string(text) {
    this.raw(imapString(text))
  }

  /** @returns {Buffer} what was written, in memory of its own size */
  finish() {
    return Buffer.from(this.bytes.subarray(0, this.length))
  }
}
