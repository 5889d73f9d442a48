/**
 * Puts numbers and bytes into a buffer that has room for them. Plain loops: they are compiled before the first long answer
 * is half written, and for a few bytes they cost less than a call out of JavaScript.
 */

/** A number takes at most so many bytes: those of Number.MAX_SAFE_INTEGER. */
export const NUMBER_BYTES = 16
const ZERO = 48

/**
 * @param {Uint8Array} target
 * @param {number} at
 * @param {number} number - an integer from 0 to Number.MAX_SAFE_INTEGER
 * @returns {number} the place behind its digits
 */
export function putNumber(target, at, number) {
  if (number >= 1e9) return putText(target, at, String(number))
  // Made an integer: a double, as MODSEQs come from their array, would slow down this loop and whatever it is inlined into.
  let rest = number | 0
  let end = at + 1
  for (let power = 10; rest >= power; power *= 10) end += 1
  for (let place = end - 1; place >= at; place -= 1) {
    const next = (rest / 10) | 0
    target[place] = ZERO + rest - next * 10
    rest = next
  }
  return end
}

/**
 * @param {Uint8Array} target
 * @param {number} at
 * @param {string} text - characters up to U+00FF, one byte each
 * @returns {number} the place behind it
 */
export function putText(target, at, text) {
  const { length } = text
  for (let index = 0; index < length; index += 1) target[at + index] = text.charCodeAt(index)
  return at + length
}

/**
 * @param {Uint8Array} target
 * @param {number} at
 * @param {Uint8Array} bytes
 * @returns {number} the place behind them
 */
export function putBytes(target, at, bytes) {
  const { length } = bytes
  for (let index = 0; index < length; index += 1) {
    target[at + index] = /** @type {number} */ (bytes[index])
  }
  return at + length
}
