/**
 * Identities as the `age` tool writes them. The program itself makes no text of a secret.
 */
import assert from 'node:assert/strict'
import { encodeBech32 } from '../../src/crypto/bech32.js'

const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l'
const CHECKSUM_CHARACTERS = 6

/**
 * @param {Buffer} secret - the 32-byte seed
 * @returns {string} `AGE-SECRET-KEY-PQ-1…`
 */
export const identityText = (secret) => encodeBech32('age-secret-key-pq-', secret).toUpperCase()

/**
 * @param {string} text - `AGE-SECRET-KEY-PQ-1…`
 * @returns {Buffer} the 32-byte seed
 */
export function secretOf(text) {
  const words = text.toLowerCase().slice(text.lastIndexOf('1') + 1, -CHECKSUM_CHARACTERS)
  const bits = [...words]
    .map((word) => ALPHABET.indexOf(word).toString(2).padStart(5, '0'))
    .join('')
  const secret = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => parseInt(byte, 2)))
  assert.equal(identityText(secret), text)
  return secret
}
