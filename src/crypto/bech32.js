/**
 * Bech32 (BIP 173) as age uses it for recipients: the checksum of version 0, and no limit of 90 characters, because a
 * post-quantum recipient alone has 1,959.
 *
 *     prefix '1' data(5 bits a character) checksum(6 characters)
 */

const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3]

/** For each value of the five bits shifted out, what is XORed into the checksum: a public key takes 1,946 steps, at each login. */
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

/**
 * Gives the same as `encodeBech32(prefix, bytes) === text`, in a twentieth of the time.
 *
 * @param {string} text
 * @param {string} prefix - in lower case
 * @param {Buffer} bytes
 * @returns {boolean}
 */
export function isBech32Of(text, prefix, bytes) {
  const words = Math.ceil((bytes.length * 8) / 5)
  const start = prefix.length + 1
  if (!text.startsWith(`${prefix}1`) || text.length !== start + words + CHECKSUM_CHARACTERS)
    return false
  let sum = expandPrefix(prefix).reduce(step, 1)
  let held = 0
  let heldBits = 0
  for (let at = 0, next = 0; at < words; at++) {
    if (heldBits < 5) {
      held = ((held << 8) | (bytes[next++] ?? 0)) & 0xfff
      heldBits += 8
    }
    heldBits -= 5
    const word = (held >>> heldBits) & 31
    if (text.charCodeAt(start + at) !== ALPHABET.charCodeAt(word)) return false
    sum = step(sum, word)
  }
  for (let at = 0; at < CHECKSUM_CHARACTERS; at++) sum = step(sum, 0)
  const check = sum ^ 1
  return Array.from(text.slice(start + words)).every(
    (character, at) => character === ALPHABET[(check >>> (5 * (CHECKSUM_CHARACTERS - 1 - at))) & 31]
  )
}

/** @param {string} prefix */
function expandPrefix(prefix) {
  const codes = [...prefix].map((character) => character.charCodeAt(0))
  return [...codes.map((code) => code >>> 5), 0, ...codes.map((code) => code & 31)]
}

/** @param {number[]} words */
function polymod(words) {
  let sum = 1
  for (const word of words) sum = step(sum, word)
  return sum >>> 0
}

/**
 * @param {number} sum
 * @param {number} word
 * @returns {number}
 */
function step(sum, word) {
  const top = sum >>> 25
  return ((sum & 0x1ffffff) << 5) ^ word ^ /** @type {number} */ (REMAINDERS[top])
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
