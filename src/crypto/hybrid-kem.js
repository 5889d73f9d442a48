/**
 * The hybrid key encapsulation that age's post-quantum recipients use: ML-KEM-768 (FIPS 203) and
 * X25519 (RFC 7748), combined as X-Wing does (draft-connolly-cfrg-xwing-kem §5). Whoever wants the
 * shared secret must break both.
 *
 *     seed (32) ──SHAKE256──► ML-KEM seed d‖z (64) ‖ X25519 scalar (32)
 *     public key  = ML-KEM encapsulation key (1184) ‖ X25519 public key (32)
 *     ciphertext  = ML-KEM ciphertext (1088)        ‖ X25519 ephemeral public key (32)
 *     secret (32) = SHA3-256(ML-KEM secret ‖ X25519 secret ‖ X25519 ephemeral ‖ X25519 public ‖ label)
 */

import {
  createHash,
  createPrivateKey,
  createPublicKey,
  decapsulate as decapsulateKey,
  diffieHellman,
  encapsulate as encapsulateKey,
  generateKeyPairSync,
  hash
} from 'node:crypto'
import { ownBytes } from '../support/own-bytes.js'
import { secretBytes } from '../support/secret-bytes.js'

/** @typedef {import('node:crypto').KeyObject} KeyObject */

/** Bytes of the seed from which a whole key pair grows. */
export const SEED_BYTES = 32
const MLKEM_PUBLIC_BYTES = 1184
const MLKEM_CIPHERTEXT_BYTES = 1088
const X25519_BYTES = 32
/** Bytes of a hybrid public key. */
const PUBLIC_KEY_BYTES = MLKEM_PUBLIC_BYTES + X25519_BYTES
/** Bytes of an encapsulated secret. */
export const CIPHERTEXT_BYTES = MLKEM_CIPHERTEXT_BYTES + X25519_BYTES

const LABEL = Buffer.from('\\.//^\\', 'latin1')

// node:crypto takes keys in DER; for keys of fixed length that is a fixed prefix and the raw bytes.
const MLKEM_PUBLIC_DER = Buffer.from('308204b2300b0609608648016503040402038204a100', 'hex')
const MLKEM_SEED_DER = Buffer.from('3054020100300b060960864801650304040204428040', 'hex')
const X25519_PUBLIC_DER = Buffer.from('302a300506032b656e032100', 'hex')
const X25519_PRIVATE_DER = Buffer.from('302e020100300506032b656e04220420', 'hex')

/**
 * A key pair must be dropped within the same turn of the event loop: OpenSSL clears its copies only when these objects are
 * collected, and objects that were kept for a while are collected late.
 *
 * @typedef {{ mlkem: KeyObject, x25519: KeyObject }} HybridKeyPair
 */

/**
 * @param {Buffer} seed - SEED_BYTES; stays the caller's to zero
 * @returns {HybridKeyPair}
 */
export function expandSeed(seed) {
  const expanded = hash('shake256', seed, { outputLength: 96, outputEncoding: 'buffer' })
  const mlkemDer = joinSecret(MLKEM_SEED_DER, expanded.subarray(0, 64))
  const x25519Der = joinSecret(X25519_PRIVATE_DER, expanded.subarray(64))
  try {
    const mlkem = createPrivateKey({ key: mlkemDer, format: 'der', type: 'pkcs8' })
    const x25519 = createPrivateKey({ key: x25519Der, format: 'der', type: 'pkcs8' })
    return { mlkem, x25519 }
  } finally {
    for (const secret of [expanded, mlkemDer, x25519Der]) secret.fill(0)
  }
}

/**
 * @param {Buffer} seed - SEED_BYTES; stays the caller's to zero
 * @returns {Buffer} PUBLIC_KEY_BYTES
 */
export function publicKeyOf(seed) {
  const { mlkem, x25519 } = expandSeed(seed)
  return ownBytes(rawPublic(mlkem), rawPublic(x25519))
}

/** A recipient's public key, which can encapsulate new shared secrets, and nothing else. */
export class HybridPublicKey {
  #mlkem
  #x25519
  #x25519Raw

  /**
   * @param {Buffer} bytes - PUBLIC_KEY_BYTES
   * @throws {Error} where the bytes are not a public key
   */
  constructor(bytes) {
    if (bytes.length !== PUBLIC_KEY_BYTES) throw new Error('hybrid public key of a wrong length')
    this.#mlkem = publicFromDer(MLKEM_PUBLIC_DER, bytes.subarray(0, MLKEM_PUBLIC_BYTES))
    this.#x25519Raw = ownBytes(bytes.subarray(MLKEM_PUBLIC_BYTES))
    this.#x25519 = publicFromDer(X25519_PUBLIC_DER, this.#x25519Raw)
  }

  /** @returns {{ ciphertext: Buffer, sharedSecret: Buffer }} `sharedSecret` is the caller's to zero */
  encapsulate() {
    const { sharedKey, ciphertext } = encapsulateKey(this.#mlkem)
    const ephemeral = generateKeyPairSync('x25519')
    const share = rawShare(ephemeral.publicKey)
    const x25519Secret = diffieHellman({
      privateKey: ephemeral.privateKey,
      publicKey: this.#x25519
    })
    return {
      ciphertext: Buffer.concat([ciphertext, share]),
      sharedSecret: combine(sharedKey, x25519Secret, share, this.#x25519Raw)
    }
  }
}

/**
 * @param {HybridKeyPair} key
 * @param {{ ciphertext: Buffer, publicKey: Buffer }} input - CIPHERTEXT_BYTES; the key's own public one
 * @returns {Buffer} the shared secret; a wrong one where the ciphertext was changed or made for
 *   another key (implicit rejection): then the AEAD that uses it does not authenticate
 * @throws {Error} where the X25519 share is a point of low order, which no honest sender makes
 */
export function decapsulate(key, { ciphertext, publicKey }) {
  const share = ciphertext.subarray(MLKEM_CIPHERTEXT_BYTES)
  const mlkemSecret = decapsulateKey(key.mlkem, ciphertext.subarray(0, MLKEM_CIPHERTEXT_BYTES))
  const x25519Secret = diffieHellman({
    privateKey: key.x25519,
    publicKey: publicFromDer(X25519_PUBLIC_DER, share)
  })
  const ownPublic = publicKey.subarray(MLKEM_PUBLIC_BYTES)
  return combine(mlkemSecret, x25519Secret, share, ownPublic)
}

/**
 * @param {Buffer} mlkemSecret - zeroed here
 * @param {Buffer} x25519Secret - zeroed here
 * @param {Buffer} share
 * @param {Buffer} x25519Public
 */
function combine(mlkemSecret, x25519Secret, share, x25519Public) {
  const secret = createHash('sha3-256')
    .update(mlkemSecret)
    .update(x25519Secret)
    .update(share)
    .update(x25519Public)
    .update(LABEL)
    .digest()
  mlkemSecret.fill(0)
  x25519Secret.fill(0)
  return secret
}

/**
 * @param {Buffer} prefix
 * @param {Buffer} secret
 * @returns {Buffer} in memory of its own, so that zeroing it clears every copy
 */
function joinSecret(prefix, secret) {
  const joined = secretBytes(prefix.length + secret.length)
  prefix.copy(joined)
  secret.copy(joined, prefix.length)
  return joined
}

/**
 * @param {Buffer} prefix
 * @param {Buffer} raw
 */
function publicFromDer(prefix, raw) {
  return createPublicKey({ key: Buffer.concat([prefix, raw]), format: 'der', type: 'spki' })
}

/**
 * Exports the raw key as JWK (RFC 8037 §2), which takes 1 us; as DER it takes 31 (measured).
 *
 * @param {KeyObject} publicKey - X25519
 * @returns {Buffer} X25519_BYTES
 */
function rawShare(publicKey) {
  return Buffer.from(String(publicKey.export({ format: 'jwk' }).x), 'base64url')
}

/** @param {KeyObject} privateKey */
function rawPublic(privateKey) {
  const der = createPublicKey(privateKey).export({ type: 'spki', format: 'der' })
  const prefix = privateKey.asymmetricKeyType === 'x25519' ? X25519_PUBLIC_DER : MLKEM_PUBLIC_DER
  return der.subarray(prefix.length)
}
