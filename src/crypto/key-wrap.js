/**
 * Wrapping of one key under another: AES-256-GCM (NIST SP 800-38D) with a random nonce.
 *
 *   wrapped key = 0x01 │ nonce 12 │ ciphertext │ tag 16
 *
 * What the wrap is for stands in the associated data: a row whose account, scope or expiry was edited, or
 * which was copied to another account, does not open. A key encryption key wraps a handful of times in
 * its life, so that random nonces do not meet.
 */
import { createCipheriv, createDecipheriv, randomFillSync } from 'node:crypto'
import { SecretBuffer } from './secret-buffer.js'

const VERSION = 1
const NONCE_BYTES = 12
const TAG_BYTES = 16
const OVERHEAD = 1 + NONCE_BYTES + TAG_BYTES

/** The wrap did not authenticate: another key, another purpose, or changed bytes. */
export class UnwrapError extends Error {
  /** @param {unknown} [cause] */
  constructor(cause) {
    super('The wrapped key does not open', { cause })
    this.name = 'UnwrapError'
  }
}

/**
 * @typedef {object} CredentialContext - everything that a credential's wrap is bound to
 * @property {string} accountId
 * @property {string} credentialId
 * @property {'password' | 'app-password' | 'recovery'} kind
 * @property {'read-write' | 'read-only'} scope
 * @property {number | null} expiresAtMs
 * @property {number} version - of the row: it grows with each new password
 * @property {import('./kdf.js').Argon2Params | null} argon2 - null for codes
 * @property {string | null} pepperId - null for codes
 * @property {number} keyEpoch
 */

/**
 * Associated data as a JSON array: one text for one list of values, whatever the values hold.
 *
 * @param {string} purpose
 * @param {ReadonlyArray<string | number | null>} fields
 * @returns {Buffer}
 */
export function associatedData(purpose, fields) {
  return Buffer.from(JSON.stringify([`letterlock/1 ${purpose}`, ...fields]), 'utf8')
}

/**
 * @param {CredentialContext} context
 * @returns {Buffer}
 */
export function credentialAssociatedData(context) {
  return associatedData('credential', [
    context.accountId,
    context.credentialId,
    context.kind,
    context.scope,
    context.expiresAtMs,
    context.version,
    context.argon2?.memoryKiB ?? null,
    context.argon2?.passes ?? null,
    context.argon2?.parallelism ?? null,
    context.pepperId,
    context.keyEpoch
  ])
}

/**
 * @param {object} input
 * @param {Uint8Array} input.kek - 32 bytes
 * @param {Uint8Array} input.key - what to wrap
 * @param {Uint8Array} input.associated
 * @returns {Buffer}
 */
export function wrapKey({ kek, key, associated }) {
  const wrapped = Buffer.alloc(OVERHEAD + key.length)
  wrapped[0] = VERSION
  const nonce = randomFillSync(wrapped.subarray(1, 1 + NONCE_BYTES))
  const cipher = createCipheriv('aes-256-gcm', kek, nonce)
  cipher.setAAD(associated)
  cipher.update(key).copy(wrapped, 1 + NONCE_BYTES)
  cipher.final()
  cipher.getAuthTag().copy(wrapped, wrapped.length - TAG_BYTES)
  return wrapped
}

/**
 * @param {object} input
 * @param {Uint8Array} input.kek - 32 bytes
 * @param {Uint8Array} input.wrapped
 * @param {Uint8Array} input.associated
 * @returns {SecretBuffer}
 * @throws {UnwrapError}
 */
export function unwrapKey({ kek, wrapped, associated }) {
  if (wrapped.length <= OVERHEAD || wrapped[0] !== VERSION) throw new UnwrapError()
  const nonce = wrapped.subarray(1, 1 + NONCE_BYTES)
  const tag = wrapped.subarray(wrapped.length - TAG_BYTES)
  const decipher = createDecipheriv('aes-256-gcm', kek, nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(associated)
  decipher.setAuthTag(tag)
  const clear = decipher.update(wrapped.subarray(1 + NONCE_BYTES, wrapped.length - TAG_BYTES))
  const key = SecretBuffer.moveFrom(clear)
  try {
    decipher.final()
  } catch (cause) {
    key.dispose()
    throw new UnwrapError(cause)
  }
  return key
}
