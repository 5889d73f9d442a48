/**
 * From the secret that was typed to its credential and the master key.
 *
 * Every attempt costs the same, whoever it is for: what has the shape of an app password a few HKDFs,
 * all else exactly one argon2 at the current parameters, whether the account exists or not. A password that
 * is still wrapped under older parameters needs those as well; both derivations then run side by side, so
 * that the attempt takes as long as the longer one, and the new one serves to wrap the key anew. A password that needs
 * another pepper is not derived at all: the answer is PEPPER_MISSING whatever was typed, and so it shows that there is such
 * an account.
 */
import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { recognizeCode } from '../crypto/generated-code.js'
import {
  SALT_BYTES,
  isSameArgon2,
  keyFromCode,
  keyFromStretched,
  requireStrongEnough
} from '../crypto/kdf.js'
import { appPasswordLookup, openCredential, wrapPasswordCredential } from './credential.js'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./argon2-queue.js').Asker} Asker
 * @typedef {import('./argon2-queue.js').Standing} Standing
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('./directory-port.js').DirectoryPort} DirectoryPort
 * @typedef {import('../crypto/secret-buffer.js').SecretBuffer} SecretBuffer
 * @typedef {import('./credential.js').CredentialServices & { directory: DirectoryPort }} CheckServices
 */

/**
 * @typedef {object} CheckedCredential
 * @property {Credential} credential
 * @property {SecretBuffer} masterKey - the caller's
 * @property {Credential | null} rewrapped - the same credential at the current parameters, where the row has others
 */

/** Is derived with in place of the id that an unknown account lacks. */
const NOBODY = 'nobody'
/** Is derived with in place of the salt that an unknown account lacks. */
const NO_SALT = randomBytes(SALT_BYTES)

/**
 * @param {object} input
 * @param {CheckServices} input.services
 * @param {Account | null} input.account
 * @param {Uint8Array} input.code - canonical bytes of an app password
 * @returns {Promise<CheckedCredential | null>}
 */
async function checkAppPassword({ services, account, code }) {
  const accountId = account?.id ?? NOBODY
  const lookup = appPasswordLookup({ accountId, code })
  const credential = await services.directory.findAppPassword(accountId, lookup)
  const key = keyFromCode({ code, salt: credential?.salt ?? NO_SALT })
  if (!credential) {
    key.kek.dispose()
    return null
  }
  const masterKey = openCredential(credential, key)
  return masterKey && { credential, masterKey, rewrapped: null }
}

/**
 * Waits for all derivations, so that no secret of one is left if another fails.
 *
 * @template T
 * @param {Promise<T & Disposable>[]} promises
 * @returns {Promise<T[]>}
 */
async function allOrNone(promises) {
  const results = await Promise.allSettled(promises)
  const failure = results.find((result) => result.status === 'rejected')
  const values = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  if (!failure) return values
  for (const value of values) value[Symbol.dispose]()
  throw failure.reason
}

/**
 * @param {Credential | null} credential
 * @returns {boolean} false for a row that was edited to make guessing cheap
 */
function isStrong(credential) {
  if (!credential) return true
  if (!credential.argon2) return false
  try {
    requireStrongEnough(credential.argon2)
    return true
  } catch {
    // What made the parameters invalid is told by the alarm of the caller, which refuses the row.
    return false
  }
}

/**
 * @param {object} input
 * @param {CheckServices} input.services
 * @param {Account | null} input.account
 * @param {Uint8Array} input.password
 * @param {Standing} [input.standing]
 * @param {Asker | undefined} [input.asker]
 * @returns {Promise<CheckedCredential | null>}
 */
async function checkPassword({ services, account, password, standing = 'stranger', asker }) {
  const { argon2, directory, pepper } = services
  const credential = await directory.findSingleCredential(account?.id ?? NOBODY, 'password')
  // After the pepper is lost, all mail programs try all day, each as one that was right before: nobody else would get a turn.
  if (credential && credential.pepperId !== pepper.id)
    throw new MailError('PEPPER_MISSING', { detail: `a credential needs ${credential.pepperId}` })
  const isEdited = !isStrong(credential)
  const rowParams = (isEdited ? null : credential?.argon2) ?? argon2.params
  const salt = credential?.salt ?? NO_SALT
  const isOlder = !isSameArgon2(rowParams, argon2.params)
  const nextSalt = isOlder ? randomBytes(SALT_BYTES) : salt
  const common = { password, standing, asker }
  const derivations = [argon2.stretch({ ...common, salt: nextSalt })]
  if (isOlder) derivations.push(argon2.stretch({ ...common, salt, params: rowParams }))

  const stretched = await allOrNone(derivations)
  try {
    const [current, asStored = current] = stretched
    if (!current || !asStored) throw new TypeError('A derivation gave nothing')
    if (isEdited)
      throw new MailError('ACCOUNT_DAMAGED', { detail: 'weak argon2 parameters in a row' })
    const key = keyFromStretched({ stretched: asStored.bytes, pepper: pepper.key.bytes })
    if (!credential) {
      key.kek.dispose()
      return null
    }
    const masterKey = openCredential(credential, key)
    if (!masterKey) return null
    const rewrapped = isOlder
      ? wrapPasswordCredential({
          frame: credential,
          stretched: current,
          salt: nextSalt,
          masterKey,
          services
        })
      : null
    return { credential, masterKey, rewrapped }
  } finally {
    for (const secret of stretched) secret.dispose()
  }
}

/**
 * Checks what a login presents: a password or an app password. A recovery code logs nobody in.
 *
 * @param {object} input
 * @param {CheckServices} input.services
 * @param {Account | null} input.account - null where there is none; the work is the same
 * @param {Uint8Array} input.password
 * @param {Standing} [input.standing] - decides who goes first
 * @param {Asker | undefined} [input.asker]
 * @returns {Promise<CheckedCredential | null>} null where the password is wrong
 * @throws {MailError} THROTTLED (queue full), PEPPER_MISSING, ACCOUNT_DAMAGED (the row was changed); and the reason of the
 *   asker's signal
 */
export async function checkCredential({
  services,
  account,
  password,
  standing = 'stranger',
  asker
}) {
  const typed = recognizeCode(password)
  try {
    if (typed?.kind === 'app-password') {
      return await checkAppPassword({ services, account, code: typed.code.bytes })
    }
    return await checkPassword({ services, account, password, standing, asker })
  } finally {
    typed?.code.dispose()
  }
}

/**
 * Checks the secrets that may change keys: the password or the recovery code, never an app password, which any device may lose.
 *
 * @param {object} input
 * @param {CheckServices} input.services
 * @param {Account | null} input.account - null where there is none; the work is the same
 * @param {Uint8Array} input.secret
 * @param {Standing} [input.standing]
 * @returns {Promise<CheckedCredential>}
 * @throws {MailError} AUTHENTICATION_FAILED, and as `checkCredential`
 */
export async function requireOwner({ services, account, secret, standing }) {
  const typed = recognizeCode(secret)
  try {
    /** @type {CheckedCredential | null} */
    let checked = null
    if (typed?.kind === 'recovery') {
      const credential = await services.directory.findSingleCredential(
        account?.id ?? NOBODY,
        'recovery'
      )
      const key = keyFromCode({ code: typed.code.bytes, salt: credential?.salt ?? NO_SALT })
      const masterKey = credential && openCredential(credential, key)
      key.kek.dispose()
      if (masterKey) checked = { credential, masterKey, rewrapped: null }
    } else if (!typed) {
      checked = await checkPassword({
        services,
        account,
        password: secret,
        ...(standing && { standing })
      })
    }
    if (!checked) throw new MailError('AUTHENTICATION_FAILED')
    return checked
  } finally {
    typed?.code.dispose()
  }
}
