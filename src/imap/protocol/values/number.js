/** Numbers of the grammar, RFC 9051 §9: decimal digits, nothing else. */
import { badSyntax } from '../syntax-failure.js'

/** The largest `number` and `nz-number`: unsigned 32 bits. */
export const MAX_NUMBER = 0xffffffff

/** `number64` and mod-sequence values reach 2^63 - 1, RFC 9051 §9, RFC 7162 §7. */
const MAX_NUMBER_64 = 2n ** 63n - 1n

const DIGITS = /^[0-9]{1,40}$/

/**
 * `number`, RFC 9051 §9.
 * @param {string} text
 * @returns {number} 0 to 2^32 - 1
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseNumber(text) {
  const value = DIGITS.test(text) ? Number(text) : NaN
  if (!(value <= MAX_NUMBER)) throw badSyntax('Invalid number')
  return value
}

/**
 * `nz-number`, RFC 9051 §9. Leading zeros are not refused: they change nothing.
 * @param {string} text
 * @returns {number} 1 to 2^32 - 1
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseNzNumber(text) {
  const value = parseNumber(text)
  if (value === 0) throw badSyntax('A number must not be zero')
  return value
}

/**
 * `number64`, RFC 9051 §9, and `mod-sequence-value`, RFC 7162 §7. A number above the largest exact integer becomes that
 * integer: no mailbox of ours gets there, so comparisons come out the same.
 * @param {string} text
 * @returns {number} 0 to Number.MAX_SAFE_INTEGER
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseNumber64(text) {
  if (!DIGITS.test(text)) throw badSyntax('Invalid number')
  const value = Number(text)
  if (value <= Number.MAX_SAFE_INTEGER) return value
  if (BigInt(text) > MAX_NUMBER_64) throw badSyntax('Invalid number')
  return Number.MAX_SAFE_INTEGER
}
