/**
 * Where single bytes are in a message that may be full of them.
 */

/** So near a byte is found sooner by looking than by a call. */
const NEAR_BYTES = 32

/** So many calls are made before their number is looked at. */
const MIN_CALLS = 16

/**
 * @param {Buffer} bytes
 * @param {number} byte
 * @param {number} from
 * @returns {number} its next place, or -1. Half a megabyte of lines may be half a megabyte of calls
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
  // A call for each is the faster way in lines as people write them; more calls than that it never makes.
  for (; count * NEAR_BYTES <= at + MIN_CALLS * NEAR_BYTES; count++) {
    at = range.indexOf(byte, at) + 1
    if (at === 0) return count
  }
  for (; at < range.length; at++) if (range[at] === byte) count++
  return count
}
