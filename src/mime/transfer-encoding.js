/**
 * Content-Transfer-Encoding: RFC 2045 §6, and uuencode, which was never a standard and is still met. Decoders work
 * on any chunking and go on after damage, since half a picture is better than none.
 *
 * @typedef {object} TransferDecoder
 * @property {boolean} isIdentity - whether the decoder gives the bytes as they come
 * @property {(chunk: Buffer) => Buffer} push - the decoded bytes that are certain by now
 * @property {() => Buffer} end - the rest of the decoded bytes
 */
import { BASE64_ALPHABET } from '../support/base64-alphabet.js'

const EMPTY = Buffer.alloc(0)
const LF = 10
const CR = 13
const EQUALS = 61

/**
 * @param {string} encoding - as written, in any case; '' means 7bit
 * @returns {TransferDecoder | null} null for an encoding that is not known (IMAP: UNKNOWN-CTE, RFC 9051 §7.1)
 */
export function createTransferDecoder(encoding) {
  switch (encoding.trim().toLowerCase()) {
    case '':
    case '7bit':
    case '8bit':
    case 'binary':
      return { isIdentity: true, push: (chunk) => chunk, end: () => EMPTY }
    case 'base64':
      return new Base64Decoder()
    case 'quoted-printable':
      return new QuotedPrintableDecoder()
    case 'x-uuencode':
    case 'x-uue':
    case 'uuencode':
      return new UuDecoder()
    default:
      return null
  }
}

/** For each byte: its base64 value, 64 for padding, 255 for a byte outside the alphabet. */
const BASE64_VALUES = new Uint8Array(256).fill(255)
for (const [value, code] of Buffer.from(BASE64_ALPHABET).entries()) BASE64_VALUES[code] = value
BASE64_VALUES[EQUALS] = 64

/** RFC 2045 §6.8: characters outside the alphabet are passed over; padding ends a group, and data may follow it. */
class Base64Decoder {
  isIdentity = false

  constructor() {
    this.bits = 0
    this.bitCount = 0
  }

  /**
   * @param {Buffer} chunk
   * @returns {Buffer}
   */
  push(chunk) {
    const out = Buffer.allocUnsafe(Math.ceil((chunk.length * 3) / 4) + 1)
    let length = 0
    let { bits, bitCount } = this
    for (let at = 0; at < chunk.length; at++) {
      const value = BASE64_VALUES[chunk[at] ?? 0] ?? 255
      if (value < 64) {
        bits = ((bits << 6) | value) & 0xffff
        bitCount += 6
        if (bitCount >= 8) {
          bitCount -= 8
          out[length++] = (bits >> bitCount) & 0xff
        }
      } else if (value === 64) bitCount = 0
    }
    this.bits = bits
    this.bitCount = bitCount
    return out.subarray(0, length)
  }

  /** @returns {Buffer} */
  end() {
    return EMPTY
  }
}

/** At most so many bytes of a line are held for its end; a longer one is decoded as far as it is safe. */
const MAX_HELD_BYTES = 4_096

/** At most so many bytes of white space are held as the possible end of a line; more are text, whatever follows. */
const MAX_PADDING_BYTES = 65_536

/** RFC 2045 §6.7: white space at a line's end goes, `=` at its end joins the lines, a wrong escape stays as it is. */
class QuotedPrintableDecoder {
  isIdentity = false

  constructor() {
    this.held = EMPTY
  }

  /**
   * @param {Buffer} chunk
   * @returns {Buffer}
   */
  push(chunk) {
    const bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk])
    const lastLineEnd = bytes.lastIndexOf(LF) + 1
    // The last line may end in white space or in half an escape, which only the next chunk can tell.
    let safe = bytes.length - lastLineEnd <= MAX_HELD_BYTES ? lastLineEnd : safeEnd(bytes)
    if (bytes.length - safe > MAX_PADDING_BYTES) safe = bytes.length
    this.held = Buffer.from(bytes.subarray(safe))
    return decodeQuotedPrintable(bytes.subarray(0, safe), false)
  }

  /** @returns {Buffer} */
  end() {
    const rest = this.held
    this.held = EMPTY
    return decodeQuotedPrintable(rest, true)
  }
}

/**
 * @param {Buffer} bytes
 * @returns {number} how many bytes can be decoded without what follows them
 */
function safeEnd(bytes) {
  let end = bytes.length
  while (end > 0 && isPadding(bytes[end - 1])) end--
  if (end > 0 && bytes[end - 1] === EQUALS) return end - 1
  return end > 1 && bytes[end - 2] === EQUALS ? end - 2 : end
}

/**
 * @param {number | undefined} byte
 * @returns {boolean} white space that a line end may follow
 */
function isPadding(byte) {
  return byte === 32 || byte === 9 || byte === CR
}

/**
 * @param {Buffer} bytes
 * @param {boolean} isLast - whether nothing follows, so that white space at the end is a line's end
 * @returns {Buffer}
 */
function decodeQuotedPrintable(bytes, isLast) {
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  let at = 0
  while (at < bytes.length) {
    const byte = bytes[at] ?? 0
    if (byte === EQUALS) {
      const high = hexValue(bytes[at + 1])
      const low = hexValue(bytes[at + 2])
      if (high !== -1 && low !== -1) {
        out[length++] = high * 16 + low
        at += 3
        continue
      }
      const next = paddingEnd(bytes, at + 1)
      if (bytes[next] === LF || (isLast && next === bytes.length)) {
        at = next + 1
        continue
      }
      out[length++] = byte
      at++
    } else if (isPadding(byte)) {
      const next = paddingEnd(bytes, at)
      const isLineEnd = bytes[next] === LF || (isLast && next === bytes.length)
      const isCrLf = isLineEnd && bytes[next] === LF && bytes[next - 1] === CR
      if (isCrLf) out[length++] = CR
      else if (!isLineEnd) for (; at < next; at++) out[length++] = bytes[at] ?? 0
      at = next
    } else {
      out[length++] = byte
      at++
    }
  }
  return out.subarray(0, length)
}

/**
 * @param {Buffer} bytes
 * @param {number} from
 * @returns {number} the first place from there on without white space
 */
function paddingEnd(bytes, from) {
  let at = from
  while (at < bytes.length && isPadding(bytes[at])) at++
  return at
}

/**
 * @param {number | undefined} byte
 * @returns {number} 0 to 15, or -1
 */
function hexValue(byte) {
  if (byte === undefined) return -1
  if (byte >= 48 && byte <= 57) return byte - 48
  const upper = byte & 0xdf
  return upper >= 65 && upper <= 70 ? upper - 55 : -1
}

/** Lines between `begin MODE NAME` and `end`: a length character, then groups of four for three bytes. */
class UuDecoder {
  isIdentity = false

  constructor() {
    this.held = EMPTY
    this.isInside = false
  }

  /**
   * @param {Buffer} chunk
   * @returns {Buffer}
   */
  push(chunk) {
    const bytes = this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk])
    /** @type {Buffer[]} */
    const pieces = []
    let start = 0
    for (let end = bytes.indexOf(LF); end !== -1; end = bytes.indexOf(LF, start)) {
      pieces.push(this.line(bytes.subarray(start, end)))
      start = end + 1
    }
    // A line of uuencode has at most 61 characters: the rest of a longer one can be dropped, for it is none.
    this.held = Buffer.from(bytes.subarray(start, start + MAX_HELD_BYTES))
    return Buffer.concat(pieces)
  }

  /** @returns {Buffer} */
  end() {
    const rest = this.line(this.held)
    this.held = EMPTY
    return rest
  }

  /**
   * @param {Buffer} line - without its LF
   * @returns {Buffer}
   */
  line(line) {
    const text = line.toString('latin1', 0, 128).trimEnd()
    if (!this.isInside) {
      this.isInside = /^begin [0-7]{3,4} /.test(text)
      return EMPTY
    }
    if (text === 'end') {
      this.isInside = false
      return EMPTY
    }
    const size = uuValue(line[0])
    const out = Buffer.alloc(size)
    for (let group = 0, at = 1; group < size; group += 3, at += 4) {
      const a = uuValue(line[at])
      const b = uuValue(line[at + 1])
      const c = uuValue(line[at + 2])
      const d = uuValue(line[at + 3])
      out[group] = (a << 2) | (b >> 4)
      if (group + 1 < size) out[group + 1] = ((b & 15) << 4) | (c >> 2)
      if (group + 2 < size) out[group + 2] = ((c & 3) << 6) | d
    }
    return out
  }
}

/**
 * @param {number | undefined} byte
 * @returns {number} 0 to 63; a space, a backquote and what is missing are 0
 */
function uuValue(byte) {
  return byte === undefined || byte < 32 ? 0 : (byte - 32) & 63
}
