/**
 * Bech32 (BIP 173) as age uses it for recipients and identities: the checksum of version 0, and no
 * limit of 90 characters, because a post-quantum recipient alone has 1,959.
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
  const words = regroup(bytes, 8, 5, true)
  const check =
    polymod([...expandPrefix(prefix), ...words, ...Array(CHECKSUM_CHARACTERS).fill(0)]) ^ 1
  for (let at = CHECKSUM_CHARACTERS - 1; at >= 0; at--) words.push((check >>> (5 * at)) & 31)
  // Not through a Buffer: of a secret, its pool would keep a copy.
  return `${prefix}1${String.fromCharCode(...words.map((word) => ALPHABET.charCodeAt(word)))}`
}

/**
 * @param {string} text - all lower case or all upper case
 * @returns {{ prefix: string, bytes: Buffer } | null} the prefix in lower case; null where the text
 *   mixes cases, has a character outside the alphabet, a wrong checksum or stray padding bits
 */
export function decodeBech32(text) {
  const lower = text.toLowerCase()
  if (text !== lower && text !== text.toUpperCase()) return null
  const separator = lower.lastIndexOf('1')
  if (separator < 1 || separator + 1 + CHECKSUM_CHARACTERS > lower.length) return null
  const prefix = lower.slice(0, separator)
  const words = []
  for (const character of lower.slice(separator + 1)) {
    const word = ALPHABET.indexOf(character)
    if (word === -1) return null
    words.push(word)
  }
  if (polymod([...expandPrefix(prefix), ...words]) !== 1) return null
  const bytes = regroup(words.slice(0, -CHECKSUM_CHARACTERS), 5, 8, false)
  return bytes === null ? null : { prefix, bytes: Buffer.from(bytes) }
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
 * @overload
 * @param {Iterable<number>} values
 * @param {number} fromBits
 * @param {number} toBits
 * @param {true} isPadded
 * @returns {number[]}
 */
/**
 * @overload
 * @param {Iterable<number>} values
 * @param {number} fromBits
 * @param {number} toBits
 * @param {false} isPadded
 * @returns {number[] | null}
 */
/**
 * @param {Iterable<number>} values
 * @param {number} fromBits
 * @param {number} toBits
 * @param {boolean} isPadded - whether left-over bits are padded with zeros; else they must be zeros
 * @returns {number[] | null}
 */
function regroup(values, fromBits, toBits, isPadded) {
  const out = []
  let held = 0
  let heldBits = 0
  for (const value of values) {
    held = ((held << fromBits) | value) & 0xfff
    heldBits += fromBits
    while (heldBits >= toBits) {
      heldBits -= toBits
      out.push((held >>> heldBits) & ((1 << toBits) - 1))
    }
  }
  const rest = held & ((1 << heldBits) - 1)
  if (isPadded) {
    if (heldBits > 0) out.push(rest << (toBits - heldBits))
  } else if (heldBits >= fromBits || rest !== 0) return null
  return out
}
