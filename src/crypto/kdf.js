/**
 * From a password or a code to a key encryption key:
 *
 *   password ── NFC ── argon2id(salt) ──► 32 bytes ── HKDF-SHA-256(salt = pepper) ──┬─► KEK        32 bytes
 *   code     ───────────────────────────────────────── HKDF-SHA-256(salt = salt) ───┴─► commitment 32 bytes
 *
 * The commitment stands in the directory. It makes the wrap committing, which AES-GCM alone is not: one
 * ciphertext cannot be made to open under two passwords.
 */
import { hkdfSync } from 'node:crypto'
import { hashRaw } from '@node-rs/argon2'
import { SecretBuffer } from './secret-buffer.js'
import { composed } from '../support/composed.js'

/**
 * @typedef {object} Argon2Params
 * @property {number} memoryKiB
 * @property {number} passes
 * @property {number} parallelism - lanes
 */

/**
 * @typedef {object} CredentialKey
 * @property {SecretBuffer} kek - 32 bytes
 * @property {Buffer} commitment - 32 bytes, public
 */

/** The floor, OWASP's smallest argon2id: below it a stolen directory is too cheap to guess at. */
export const ARGON2_FLOOR = Object.freeze({ memoryKiB: 19 * 1024, passes: 2, parallelism: 1 })

/** Salts are 16 bytes, as RFC 9106 §3.1 recommends. */
export const SALT_BYTES = 16

/** Master keys, key encryption keys and commitments. */
export const KEY_BYTES = 32

/** `Algorithm.Argon2id`; the package declares it as a const enum, which plain JavaScript cannot import. */
const ARGON2ID = 2

const INFO = Object.freeze({
  passwordKek: 'letterlock/1 password kek',
  passwordCommitment: 'letterlock/1 password commitment',
  codeKek: 'letterlock/1 code kek',
  codeCommitment: 'letterlock/1 code commitment'
})

/**
 * HKDF with SHA-256 (RFC 5869).
 *
 * @param {object} input
 * @param {Uint8Array} input.key - input keying material
 * @param {Uint8Array} [input.salt]
 * @param {string} input.info
 * @param {number} [input.size] - bytes; 32 unless told
 * @returns {Buffer} in memory of its own
 */
export function hkdf({ key, salt = new Uint8Array(0), info, size = KEY_BYTES }) {
  return Buffer.from(hkdfSync('sha256', key, salt, info, size))
}

/**
 * @param {Argon2Params} params
 * @throws {RangeError} below the floor, so that no configuration and no tampered row makes guessing cheap
 */
export function requireStrongEnough({ memoryKiB, passes, parallelism }) {
  const isWhole = [memoryKiB, passes, parallelism].every(Number.isSafeInteger)
  if (
    !isWhole ||
    memoryKiB < ARGON2_FLOOR.memoryKiB ||
    passes < ARGON2_FLOOR.passes ||
    parallelism < ARGON2_FLOOR.parallelism
  ) {
    throw new RangeError('argon2id parameters are below the floor of 19 MiB and 2 passes')
  }
}

/**
 * @param {Argon2Params} left
 * @param {Argon2Params} right
 * @returns {boolean}
 */
export function isSameArgon2(left, right) {
  return (
    left.memoryKiB === right.memoryKiB &&
    left.passes === right.passes &&
    left.parallelism === right.parallelism
  )
}

/**
 * The bytes of a password as they are hashed. The same password reaches us composed or decomposed, as the
 * client's system writes it, so UTF-8 is brought to NFC (RFC 8265 §4.2.2); other bytes stay as they are.
 *
 * @param {Uint8Array} password - stays as it is
 * @returns {SecretBuffer}
 */
export function normalizePassword(password) {
  if (password.every((byte) => byte < 0x80)) return SecretBuffer.copyOf(password)
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(password)
    return SecretBuffer.moveFrom(new TextEncoder().encode(composed(text)))
  } catch {
    // Not UTF-8: an old client sends Latin-1, and sends the same bytes next time.
    return SecretBuffer.copyOf(password)
  }
}

/**
 * The slow step alone, in libuv's pool. Call it through `Argon2Queue`, which bounds how many run at once.
 *
 * @param {object} input
 * @param {Uint8Array} input.password
 * @param {Uint8Array} input.salt - 16 bytes
 * @param {Argon2Params} input.params
 * @returns {Promise<SecretBuffer>} 32 bytes
 * @throws {RangeError} where the parameters are below the floor
 */
export async function argon2id({ password, salt, params }) {
  requireStrongEnough(params)
  const normalized = normalizePassword(password)
  try {
    const raw = await hashRaw(normalized.bytes, {
      algorithm: ARGON2ID,
      memoryCost: params.memoryKiB,
      timeCost: params.passes,
      parallelism: params.parallelism,
      outputLen: KEY_BYTES,
      salt
    })
    return SecretBuffer.moveFrom(raw)
  } finally {
    normalized.dispose()
  }
}

/**
 * @param {object} input
 * @param {Uint8Array} input.stretched - what argon2id gave
 * @param {Uint8Array} input.pepper - the server's 32 bytes
 * @returns {CredentialKey}
 */
export function keyFromStretched({ stretched, pepper }) {
  return {
    kek: new SecretBuffer(hkdf({ key: stretched, salt: pepper, info: INFO.passwordKek })),
    commitment: hkdf({ key: stretched, salt: pepper, info: INFO.passwordCommitment })
  }
}

/**
 * For codes that this server made: at least 128 random bits need no stretching.
 *
 * @param {object} input
 * @param {Uint8Array} input.code - canonical bytes
 * @param {Uint8Array} input.salt - 16 bytes
 * @returns {CredentialKey}
 */
export function keyFromCode({ code, salt }) {
  return {
    kek: new SecretBuffer(hkdf({ key: code, salt, info: INFO.codeKek })),
    commitment: hkdf({ key: code, salt, info: INFO.codeCommitment })
  }
}
