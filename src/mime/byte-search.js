/**
 * Finds and counts single bytes in a message that may be full of them.
 */

/** A byte that is at most so many bytes away is found sooner by a loop than by a call of `indexOf`. */
const NEAR_BYTES = 32

/** So many calls are made before their number is compared with the distance that they covered. */
const MIN_CALLS = 16

/**
 * @param {Buffer} bytes
 * @param {number} byte
 * @param {number} from
 * @returns {number} the next place of the byte, or -1. Half a megabyte of empty lines would be as many calls of `indexOf`
 */
export function nextByte(bytes, byte, from) {
  const near = Math.min(from + NEAR_BYTES, bytes.length)
  for (let at = from; at < near; at++) if (bytes[at] === byte) return at
  return near === bytes.length ? -1 : bytes.indexOf(byte, near)
}

/**
 * @param {Buffer} bytes
 * @param {number} byte
 * @param {number} from
 * @param {number} to
 * @returns {number} how often the byte is there
 */
export function countByte(bytes, byte, from, to) {
  const range = bytes.subarray(from, to)
  let count = 0
  let at = 0
  // In lines as people write them, a call for each byte is faster. Where the bytes lie closer, a loop counts the rest.
  for (; count * NEAR_BYTES <= at + MIN_CALLS * NEAR_BYTES; count++) {
    at = range.indexOf(byte, at) + 1
    if (at === 0) return count
  }
  for (; at < range.length; at++) if (range[at] === byte) count++
  return count
}
