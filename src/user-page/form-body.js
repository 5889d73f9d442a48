/**
 * What a form sends (application/x-www-form-urlencoded, https://url.spec.whatwg.org/#urlencoded-parsing), as bytes: a
 * password becomes no string on its way, and is zeroed after the answer.
 */
import { secretBytes } from '../support/secret-bytes.js'

/** At most so many fields are read: more than the largest form has. */
const MAX_FIELDS = 16

const PLUS = 0x2b
const PERCENT = 0x25
const SPACE = 0x20

/**
 * @param {number} [byte] - none where the field has ended
 * @returns {number} 0 to 15; -1 where the byte is no hexadecimal digit
 */
function hexDigit(byte = 0) {
  const at = '0123456789abcdefABCDEF'.indexOf(String.fromCharCode(byte))
  return at < 16 ? at : at - 6
}

/**
 * @param {Uint8Array} encoded
 * @returns {Buffer} of its own memory
 */
function decode(encoded) {
  const decoded = secretBytes(encoded.length)
  let length = 0
  for (let at = 0; at < encoded.length; at++) {
    const byte = /** @type {number} */ (encoded[at])
    const high = byte === PERCENT ? hexDigit(encoded[at + 1]) : -1
    const low = byte === PERCENT ? hexDigit(encoded[at + 2]) : -1
    if (high >= 0 && low >= 0) {
      decoded[length++] = high * 16 + low
      at += 2
    } else decoded[length++] = byte === PLUS ? SPACE : byte
  }
  return decoded.subarray(0, length)
}

/** The fields of a form that was sent. */
export class FormBody {
  /** @type {Map<string, Buffer>} */
  #fields = new Map()

  /** @param {Buffer} body - zeroed */
  constructor(body) {
    let start = 0
    while (start < body.length && this.#fields.size < MAX_FIELDS) {
      const found = body.indexOf('&', start)
      const end = found < 0 ? body.length : found
      const equals = body.subarray(start, end).indexOf('=')
      if (equals > 0) {
        const name = decode(body.subarray(start, start + equals)).toString()
        // A second field of the same name is not decoded: `dispose` would not zero it.
        if (!this.#fields.has(name))
          this.#fields.set(name, decode(body.subarray(start + equals + 1, end)))
      }
      start = end + 1
    }
    body.fill(0)
  }

  /**
   * @param {string} name
   * @returns {string} without blanks around it; empty where there is no such field
   */
  text(name) {
    return this.#fields.get(name)?.toString().trim() ?? ''
  }

  /**
   * @param {string} name
   * @returns {Buffer} as it was typed, valid until `dispose`; empty where there is no such field
   */
  secret(name) {
    return this.#fields.get(name) ?? Buffer.alloc(0)
  }

  /** Zeroes every field. */
  dispose() {
    for (const value of this.#fields.values()) value.fill(0)
    this.#fields.clear()
  }
}
