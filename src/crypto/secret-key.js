/**
 * Keys in the form that node:crypto takes without a detour.
 */
import { createSecretKey } from 'node:crypto'

/**
 * Given a key as bytes, createHmac and createCipheriv first ask two times whether it is an object of theirs, and each time
 * learn by an exception that it is not: 13 us of the 17 that a cipher takes under Node 24 (measured), and a sealed message
 * needs ten of them.
 *
 * @param {Buffer} bytes - copied; the caller zeroes them. The copy is cleared when the object is collected, as the states
 *   of ciphers and HMACs are
 * @returns {import('node:crypto').KeyObject}
 */
export const secretKey = (bytes) => createSecretKey(bytes)
