/** `base64`, RFC 4648 §4, as SASL exchanges use it: RFC 9051 §6.2.2. */
import { badSyntax } from '../syntax-failure.js'
import { BASE64_ALPHABET } from '../../../support/base64-alphabet.js'
import { secretBytes } from '../../../support/secret-bytes.js'

const INVALID = 255
const VALUES = new Uint8Array(256).fill(INVALID)
for (const [value, code] of Buffer.from(BASE64_ALPHABET).entries()) VALUES[code] = value
const PADDING = 61

/**
 * Decodes without a string in between, because the content is a password.
 * @param {Buffer} bytes - padded, without line ends
 * @returns {Buffer} memory of its own, for the caller to zero
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function decodeBase64(bytes) {
  let end = bytes.length
  while (end > 0 && bytes.length - end < 2 && bytes[end - 1] === PADDING) end -= 1
  if (bytes.length % 4 !== 0) throw badSyntax('Invalid base64')
  const decoded = secretBytes(Math.floor((end * 3) / 4))
  let length = 0
  let bits = 0
  let width = 0
  for (let at = 0; at < end; at += 1) {
    const value = /** @type {number} */ (VALUES[/** @type {number} */ (bytes[at])])
    if (value === INVALID) {
      decoded.fill(0)
      throw badSyntax('Invalid base64')
    }
    bits = ((bits << 6) | value) & 0xffff
    width += 6
    if (width >= 8) {
      width -= 8
      decoded[length] = (bits >> width) & 255
      length += 1
    }
  }
  return decoded
}
