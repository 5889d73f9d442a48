/**
 * Charsets of seven bits that switch between sets by escapes and shifts, made fit for decoders that know less of them
 * or fail on what is damaged.
 */

/** @typedef {import('./charset.js').CharsetDecoder} CharsetDecoder */

const ESCAPE = 27
const ESCAPE_LETTER = '\x1b'
const TILDE = 0x7e
const EMPTY = Buffer.alloc(0)

/** The bytes behind an escape that switch to a set of ISO-2022-JP (RFC 1468, and half-width katakana). */
const JIS_DESIGNATION = /^(?:\$[@B]|\([BHIJ])/

/** The bytes behind an escape that switch to any set of one or two bytes (ISO 2022). */
const OTHER_DESIGNATION = /^(?:\$[()]?|\()[0-~]/

/** The beginning of such bytes: empty where the escape alone has come. */
const BEGUN_DESIGNATION = /^(?:\$[()]?|\()?$/

/** A byte that no seven-bit charset has: decoders answer it with U+FFFD, wherever it stands. */
const NO_BYTE = '\xff'

/**
 * ISO-2022-JP (RFC 1468). The platform's decoder throws where bytes are cut inside of an escape that opens nothing, so it is
 * given whole escapes only, and NO_BYTE for those that open nothing.
 */
export class JisDecoder {
  #inner
  #held = EMPTY

  /** @param {CharsetDecoder} inner - the platform's */
  constructor(inner) {
    this.#inner = inner
  }

  /**
   * @param {Uint8Array} bytes
   * @returns {string}
   */
  push(bytes) {
    return this.#inner.push(this.#withKnownEscapes(joined(this.#held, bytes), false))
  }

  /** @returns {string} */
  end() {
    return this.#inner.push(this.#withKnownEscapes(this.#held, true)) + this.#inner.end()
  }

  /**
   * @param {Buffer} bytes
   * @param {boolean} isLast
   * @returns {Buffer}
   */
  #withKnownEscapes(bytes, isLast) {
    this.#held = EMPTY
    if (!bytes.includes(ESCAPE)) return bytes
    const [before = '', ...escaped] = bytes.toString('latin1').split(ESCAPE_LETTER)
    const last = escaped.at(-1) ?? ''
    if (!isLast && BEGUN_DESIGNATION.test(last)) {
      this.#held = Buffer.from(ESCAPE_LETTER + last, 'latin1')
      escaped.pop()
    }
    const sound = escaped.map((text) =>
      JIS_DESIGNATION.test(text)
        ? ESCAPE_LETTER + text
        : NO_BYTE + text.replace(OTHER_DESIGNATION, '')
    )
    return Buffer.from(before + sound.join(''), 'latin1')
  }
}

/** ISO-2022-KR (RFC 1557) and HZ (RFC 1843): shifted stretches are turned into their eight-bit form first. */
export class ShiftedDecoder {
  #isHz
  #inner
  #held = EMPTY
  #isShifted = false
  /** Bytes of a designation that is being passed over. */
  #toSkip = 0

  /**
   * @param {CharsetDecoder} inner - of the eight-bit form
   * @param {boolean} isHz - shifted by tildes, not by SO and SI
   */
  constructor(inner, isHz) {
    this.#inner = inner
    this.#isHz = isHz
  }

  /**
   * @param {Uint8Array} bytes
   * @returns {string}
   */
  push(bytes) {
    return this.#inner.push(this.#withoutShifts(joined(this.#held, bytes), false))
  }

  /** @returns {string} */
  end() {
    const text = this.#inner.push(this.#withoutShifts(this.#held, true))
    return text + this.#inner.end()
  }

  /**
   * @param {Buffer} bytes
   * @param {boolean} isLast
   * @returns {Buffer}
   */
  #withoutShifts(bytes, isLast) {
    const out = Buffer.allocUnsafe(bytes.length)
    const opening = this.#isHz ? TILDE : ESCAPE
    let length = 0
    let at = 0
    for (; at < bytes.length; at++) {
      const byte = bytes[at] ?? 0
      const next = bytes[at + 1]
      if (this.#toSkip > 0) this.#toSkip--
      // The next piece tells what this byte means.
      else if (byte === opening && next === undefined && !isLast) break
      else if (this.#isHz && byte === TILDE) {
        // ~{ opens, ~} closes, ~~ is a tilde, ~ before a line end joins the lines.
        if (next === 0x7b) this.#isShifted = true
        else if (next === 0x7d) this.#isShifted = false
        else if (next === TILDE) out[length++] = TILDE
        else if (next !== 10) continue
        at++
      } else if (!this.#isHz && byte === ESCAPE && next === 0x24)
        this.#toSkip = 3 // ESC $ ) C: the designation at the start
      else if (!this.#isHz && byte === 0x0e) this.#isShifted = true
      else if (!this.#isHz && byte === 0x0f) this.#isShifted = false
      else out[length++] = this.#isShifted && byte > 0x20 ? byte | 0x80 : byte
    }
    this.#held = Buffer.from(bytes.subarray(at))
    return out.subarray(0, length)
  }
}

/**
 * @param {Buffer} held
 * @param {Uint8Array} bytes
 * @returns {Buffer}
 */
export function joined(held, bytes) {
  return held.length === 0 ? asBuffer(bytes) : Buffer.concat([held, bytes])
}

/**
 * @param {Uint8Array} bytes
 * @returns {Buffer} the same memory
 */
export function asBuffer(bytes) {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
