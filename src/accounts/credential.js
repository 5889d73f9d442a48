/**
 * Making and opening credentials: rows whose wrapped key is the account's master key.
 *
 * A credential is right exactly if its wrap authenticates. Nothing that is stored answers the question
 * "is this the password?" without the pepper and a full derivation.
 */
import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { equalInConstantTime } from '../crypto/constant-time.js'
import { generateCode, recognizeCode } from '../crypto/generated-code.js'
import { SALT_BYTES, hkdf, keyFromCode, keyFromStretched } from '../crypto/kdf.js'
import { UnwrapError, credentialAssociatedData, unwrapKey, wrapKey } from '../crypto/key-wrap.js'
import { collectSoon } from '../support/collect-soon.js'

/**
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('./argon2-queue.js').Argon2Queue} Argon2Queue
 * @typedef {import('./pepper.js').Pepper} Pepper
 * @typedef {import('../crypto/secret-buffer.js').SecretBuffer} SecretBuffer
 * @typedef {import('../crypto/kdf.js').CredentialKey} CredentialKey
 */

/**
 * @typedef {object} CredentialFrame - what a new or rewritten credential is, its key apart
 * @property {string} accountId
 * @property {string} [id] - a new one unless told
 * @property {string} [label]
 * @property {import('./directory-port.js').Scope} [scope] - read-write unless told
 * @property {number | null} [expiresAtMs]
 * @property {number} [version] - 1 unless told
 * @property {number} keyEpoch
 * @property {number} [createdAtMs] - now unless told
 */

/**
 * @typedef {object} CredentialServices
 * @property {Argon2Queue} argon2
 * @property {Pepper} pepper
 * @property {import('../support/clock.js').Clock} clock
 */

/** An app password's row is found by so many bytes of a hash; each value leaves 2^76 codes open. */
const LOOKUP_BYTES = 8

/** At most so many bytes, as in a login's literal: longer passwords are no stronger. */
const MAX_PASSWORD_BYTES = 4096

/** @returns {string} 16 hexadecimal digits, for accounts and credentials */
export function newId() {
  return randomBytes(8).toString('hex')
}

/**
 * @param {Uint8Array} password
 * @throws {MailError} PASSWORD_REFUSED for a password that no login could ever present as one
 */
export function requireUsablePassword(password) {
  const refuse = (/** @type {string} */ detail) => new MailError('PASSWORD_REFUSED', { detail })
  if (password.length === 0) throw refuse('it is empty')
  if (password.length > MAX_PASSWORD_BYTES) throw refuse(`it has over ${MAX_PASSWORD_BYTES} bytes`)
  if (password.includes(0)) throw refuse('it holds a NUL, which IMAP cannot carry')
  const code = recognizeCode(password)
  if (code) {
    code.code.dispose()
    throw refuse('it has the shape of a code that this server makes')
  }
}

/**
 * @param {object} input
 * @param {string} input.accountId
 * @param {Uint8Array} input.code - canonical bytes
 * @returns {Buffer}
 */
export function appPasswordLookup({ accountId, code }) {
  return hkdf({
    key: code,
    salt: Buffer.from(accountId, 'utf8'),
    info: 'letterlock/1 app password lookup',
    size: LOOKUP_BYTES
  })
}

/**
 * @param {object} input
 * @param {CredentialFrame} input.frame
 * @param {Pick<Credential, 'kind' | 'argon2' | 'pepperId' | 'lookup' | 'salt'>} input.derivation
 * @param {CredentialKey} input.key - its KEK is disposed of
 * @param {SecretBuffer} input.masterKey
 * @param {number} input.nowMs
 * @returns {Credential}
 */
function wrapCredential({ frame, derivation, key, masterKey, nowMs }) {
  const row = {
    label: '',
    scope: /** @type {const} */ ('read-write'),
    expiresAtMs: null,
    version: 1,
    createdAtMs: nowMs,
    ...frame,
    ...derivation,
    id: frame.id ?? newId(),
    changedAtMs: nowMs,
    lastUsedAtMs: null
  }
  const associated = credentialAssociatedData({ ...row, credentialId: row.id })
  try {
    const wrappedKey = wrapKey({ kek: key.kek.bytes, key: masterKey.bytes, associated })
    return { ...row, commitment: key.commitment, wrappedKey }
  } finally {
    key.kek.dispose()
  }
}

/**
 * @param {object} input
 * @param {CredentialFrame} input.frame
 * @param {SecretBuffer} input.stretched - the password through argon2 at the current parameters, with `salt`
 * @param {Buffer} input.salt
 * @param {SecretBuffer} input.masterKey
 * @param {CredentialServices} input.services
 * @returns {Credential}
 */
export function wrapPasswordCredential({ frame, stretched, salt, masterKey, services }) {
  const { argon2, pepper, clock } = services
  return wrapCredential({
    frame,
    derivation: {
      kind: 'password',
      argon2: { ...argon2.params },
      pepperId: pepper.id,
      lookup: null,
      salt
    },
    key: keyFromStretched({ stretched: stretched.bytes, pepper: pepper.key.bytes }),
    masterKey,
    nowMs: clock.nowMs()
  })
}

/**
 * One argon2 at the current parameters.
 *
 * @param {object} input
 * @param {CredentialFrame} input.frame
 * @param {Uint8Array} input.password
 * @param {SecretBuffer} input.masterKey
 * @param {CredentialServices} input.services
 * @param {import('./argon2-queue.js').Standing} [input.standing] - of who sets it
 * @returns {Promise<Credential>}
 * @throws {MailError} THROTTLED where the argon2 queue is full
 */
export async function makePasswordCredential({ frame, password, masterKey, services, standing }) {
  const salt = randomBytes(SALT_BYTES)
  using stretched = await services.argon2.stretch({
    password,
    salt,
    ...(standing && { standing })
  })
  return wrapPasswordCredential({ frame, stretched, salt, masterKey, services })
}

/**
 * @param {object} input
 * @param {'app-password' | 'recovery'} input.kind
 * @param {CredentialFrame} input.frame
 * @param {SecretBuffer} input.masterKey
 * @param {{ clock: import('../support/clock.js').Clock }} input.services
 * @returns {{ credential: Credential, text: string }} `text` is shown once and kept nowhere
 */
export function makeCodeCredential({ kind, frame, masterKey, services }) {
  const { code, text } = generateCode(kind)
  const salt = randomBytes(SALT_BYTES)
  try {
    const lookup =
      kind === 'app-password'
        ? appPasswordLookup({ accountId: frame.accountId, code: code.bytes })
        : null
    const credential = wrapCredential({
      frame,
      derivation: { kind, argon2: null, pepperId: null, lookup, salt },
      key: keyFromCode({ code: code.bytes, salt }),
      masterKey,
      nowMs: services.clock.nowMs()
    })
    return { credential, text }
  } finally {
    code.dispose()
  }
}

/**
 * @param {Credential} credential
 * @param {CredentialKey} key - its KEK is disposed of
 * @returns {SecretBuffer | null} the master key, or null where the credential is wrong
 * @throws {MailError} ACCOUNT_DAMAGED where the credential is right but the row was changed: the commitment proves the
 *   credential, and so the refusal to unwrap can have no other reason
 */
export function openCredential(credential, key) {
  using kek = key.kek
  collectSoon()
  if (!equalInConstantTime(credential.commitment, key.commitment)) return null
  const associated = credentialAssociatedData({ ...credential, credentialId: credential.id })
  try {
    return unwrapKey({ kek: kek.bytes, wrapped: credential.wrappedKey, associated })
  } catch (error) {
    if (!(error instanceof UnwrapError)) throw error
    throw new MailError('ACCOUNT_DAMAGED', { detail: 'a credential row was changed', cause: error })
  }
}
