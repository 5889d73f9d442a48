/**
 * Bech32 (BIP 173) as age uses it for recipients: the checksum of version 0, and no limit of 90 characters, because a
 * post-quantum recipient alone has 1,959.
 *
 *     prefix '1' data(5 bits a character) checksum(6 characters)
 */

const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

/** What the five bits that leave the checksum put into it: a public key has 1,946 of these steps, at each login. */
const REMAINDERS = Int32Array.from({ length: 32 }, (_, top) =>
  GENERATOR.reduce((sum, value, bit) => ((top >>> bit) & 1 ? sum ^ value : sum), 0)
)
const CHECKSUM_CHARACTERS = 6

/**
 * @param {string} prefix - human readable part, in lower case
 * @param {Buffer} bytes
 * @returns {string} in lower case
 */
export function encodeBech32(prefix, bytes) {
  const words = byFives(bytes)
  const check =
    polymod([...expandPrefix(prefix), ...words, ...Array(CHECKSUM_CHARACTERS).fill(0)]) ^ 1
  for (let at = CHECKSUM_CHARACTERS - 1; at >= 0; at--) words.push((check >>> (5 * at)) & 31)
  return `${prefix}1${words.map((word) => ALPHABET[word]).join('')}`
}

/** @param {string} prefix */
function expandPrefix(prefix) {
  const codes = [...prefix].map((character) => character.charCodeAt(0))
  return [...codes.map((code) => code >>> 5), 0, ...codes.map((code) => code & 31)]
}

/** @param {number[]} words */
function polymod(words) {
  let sum = 1
  for (const word of words) {
    const top = sum >>> 25
    sum = ((sum & 0x1ffffff) << 5) ^ word ^ /** @type {number} */ (REMAINDERS[top])
  }
  return sum >>> 0
}

/**
 * @param {Iterable<number>} bytes
 * @returns {number[]} the same bits by fives, the last ones filled up with zeros
 */
function byFives(bytes) {
  const words = []
  let held = 0
  let heldBits = 0
  for (const byte of bytes) {
    held = ((held << 8) | byte) & 0xfff
    heldBits += 8
    while (heldBits >= 5) {
      heldBits -= 5
      words.push((held >>> heldBits) & 31)
    }
  }
  if (heldBits > 0) words.push((held << (5 - heldBits)) & 31)
  return words
}
