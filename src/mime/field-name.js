/**
 * Names of header fields as numbers of 16 bits: nothing is allocated to find out of most names that they are not the one that
 * is looked for. Names with the same number may differ; equal names, whatever their case, have the same one.
 */

/** FNV-1a, of 32 bits, folded to 16. */
const OFFSET_BASIS = 0x811c9dc5
const PRIME = 0x01000193

/**
 * @param {Uint8Array} bytes
 * @param {number} from
 * @param {number} to - exclusive
 * @returns {number} of the name that stands there
 */
export function fieldNameNumber(bytes, from, to) {
  let hash = OFFSET_BASIS
  for (let at = from; at < to; at++) {
    hash = Math.imul(hash ^ folded(/** @type {number} */ (bytes[at])), PRIME)
  }
  return ((hash >>> 16) ^ hash) & 0xffff
}

/**
 * @param {string} name - of Latin-1 characters, as header fields are read
 * @returns {number}
 */
export function numberOfFieldName(name) {
  const bytes = Buffer.from(name, 'latin1')
  return fieldNameNumber(bytes, 0, bytes.length)
}

/**
 * @param {number} byte
 * @returns {number} the same for both cases of a letter: for those of ASCII, and for all that is not ASCII
 */
function folded(byte) {
  if (byte > 127) return 128
  return byte > 64 && byte < 91 ? byte + 32 : byte
}
