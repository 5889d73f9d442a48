/**
 * The key schedule of HPKE in base mode (RFC 9180 §5.1) for the one suite that age's post-quantum
 * recipients use: the hybrid KEM 0x647a, HKDF-SHA256, ChaCha20-Poly1305. One message is sealed under
 * each shared secret, so the sequence number is always 0 and the nonce is the base nonce itself.
 */

import { createCipheriv, createDecipheriv, createHmac } from 'node:crypto'
import { secretKey } from './secret-key.js'

const KEM_MLKEM768_X25519 = 0x647a
const KDF_HKDF_SHA256 = 0x0001
const AEAD_CHACHA20_POLY1305 = 0x0003
const KEY_BYTES = 32
const NONCE_BYTES = 12
/** Sealing adds so many bytes. */
export const TAG_BYTES = 16

const VERSION = Buffer.from('HPKE-v1', 'latin1')
const EMPTY = Buffer.alloc(0)
const MODE_BASE = 0

const SUITE = Buffer.from('HPKE\0\0\0\0\0\0', 'latin1')
SUITE.writeUInt16BE(KEM_MLKEM768_X25519, 4)
SUITE.writeUInt16BE(KDF_HKDF_SHA256, 6)
SUITE.writeUInt16BE(AEAD_CHACHA20_POLY1305, 8)

/** One application of HPKE: a fixed `info`, so the part of the schedule that depends on it is made once. */
export class HpkeSuite {
  #context

  /** @param {string} info - what the key is for, ASCII */
  constructor(info) {
    this.#context = Buffer.concat([
      Buffer.of(MODE_BASE),
      labeledExtract(EMPTY, 'psk_id_hash', EMPTY),
      labeledExtract(EMPTY, 'info_hash', Buffer.from(info, 'latin1'))
    ])
  }

  /**
   * @param {Buffer} sharedSecret - zeroed here: it seals one message and no second
   * @param {Buffer} plaintext
   * @returns {Buffer} ciphertext and tag
   */
  seal(sharedSecret, plaintext) {
    const { key, nonce } = this.#schedule(sharedSecret)
    const options = { authTagLength: TAG_BYTES }
    const cipher = createCipheriv('chacha20-poly1305', secretKey(key), nonce, options)
    key.fill(0)
    return Buffer.concat([cipher.update(plaintext), cipher.final(), cipher.getAuthTag()])
  }

  /**
   * @param {Buffer} sharedSecret - zeroed here
   * @param {Buffer} sealed - ciphertext and tag
   * @returns {Buffer | null} the plaintext, the caller's to zero; null where the ciphertext does not authenticate
   */
  open(sharedSecret, sealed) {
    const { key, nonce } = this.#schedule(sharedSecret)
    const options = { authTagLength: TAG_BYTES }
    const decipher = createDecipheriv('chacha20-poly1305', secretKey(key), nonce, options)
    key.fill(0)
    decipher.setAuthTag(sealed.subarray(sealed.length - TAG_BYTES))
    const plaintext = decipher.update(sealed.subarray(0, sealed.length - TAG_BYTES))
    try {
      decipher.final()
    } catch {
      // A wrong tag is the answer "not for this key", not a fault.
      plaintext.fill(0)
      return null
    }
    return plaintext
  }

  /**
   * RFC 9180 §5.1, KeySchedule.
   *
   * @param {Buffer} sharedSecret
   */
  #schedule(sharedSecret) {
    const secret = labeledExtract(sharedSecret, 'secret', EMPTY)
    sharedSecret.fill(0)
    const key = labeledExpand(secret, 'key', this.#context, KEY_BYTES)
    const nonce = labeledExpand(secret, 'base_nonce', this.#context, NONCE_BYTES)
    secret.fill(0)
    return { key, nonce }
  }
}

/**
 * RFC 9180 §4, LabeledExtract.
 *
 * @param {Buffer} salt
 * @param {string} label
 * @param {Buffer} material
 * @returns {Buffer}
 */
function labeledExtract(salt, label, material) {
  return createHmac('sha256', secretKey(salt))
    .update(VERSION)
    .update(SUITE)
    .update(label, 'latin1')
    .update(material)
    .digest()
}

/**
 * RFC 9180 §4, LabeledExpand, for outputs of at most one SHA-256 block.
 *
 * @param {Buffer} secret
 * @param {string} label
 * @param {Buffer} context
 * @param {number} length - bytes, at most 32
 * @returns {Buffer}
 */
function labeledExpand(secret, label, context, length) {
  const block = createHmac('sha256', secretKey(secret))
    .update(Buffer.of(length >>> 8, length & 0xff))
    .update(VERSION)
    .update(SUITE)
    .update(label, 'latin1')
    .update(context)
    .update(Buffer.of(1))
    .digest()
  return block.subarray(0, length)
}
