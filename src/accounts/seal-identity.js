/**
 * The key pair that mail is sealed to while the mailbox is locked: the public half in the clear in the
 * directory, the private half under the account's seal key.
 */
import { MailError } from '../errors.js'
import { generateSealIdentity, identityFromSecret, isRecipientOf } from '../crypto/age.js'
import { deriveSealKey } from '../crypto/key-derivation.js'
import { UnwrapError, associatedData, unwrapKey, wrapKey } from '../crypto/key-wrap.js'
import { collectSoon } from '../support/collect-soon.js'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').DirectoryPort} DirectoryPort
 * @typedef {import('./directory-port.js').SealIdentityRow} SealIdentityRow
 * @typedef {import('../crypto/secret-buffer.js').SecretBuffer} SecretBuffer
 * @typedef {import('../crypto/age.js').SealIdentity} SealIdentity
 */

/**
 * The purpose of an identity, which its wrap is bound to. An identity from before a rekey is known to whoever had the old master
 * key: it opens mail that was sealed to it, and must never pass for the current one.
 */
const CURRENT = 'seal identity'
const FORMER = 'former seal identity'
/** A former identity may have either purpose: earlier releases made no difference. */
const ANY = Object.freeze([CURRENT, FORMER])

/**
 * @param {string} purpose
 * @param {Omit<SealIdentityRow, 'wrappedSecret'>} row
 * @returns {Buffer}
 */
function associatedWith(purpose, { accountId, number, recipient, keyEpoch }) {
  return associatedData(purpose, [accountId, number, recipient, keyEpoch])
}

/**
 * @param {string} purpose
 * @param {Omit<SealIdentityRow, 'wrappedSecret'>} row
 * @param {Uint8Array} secret
 * @param {SecretBuffer} masterKey
 * @returns {SealIdentityRow}
 */
function wrapIdentity(purpose, row, secret, masterKey) {
  const kek = deriveSealKey(masterKey.bytes)
  try {
    const associated = associatedWith(purpose, row)
    return { ...row, wrappedSecret: wrapKey({ kek, key: secret, associated }) }
  } finally {
    kek.fill(0)
  }
}

/**
 * @param {readonly string[]} purposes - of which one is right
 * @param {SealIdentityRow} row
 * @param {SecretBuffer} masterKey
 * @returns {SecretBuffer} the 32-byte secret
 * @throws {MailError} KEYS_CONTRADICT
 */
function unwrapIdentity(purposes, row, masterKey) {
  const kek = deriveSealKey(masterKey.bytes)
  try {
    /** @type {unknown} */
    let refusal
    for (const purpose of purposes) {
      const associated = associatedWith(purpose, row)
      try {
        return unwrapKey({ kek, wrapped: row.wrappedSecret, associated })
      } catch (error) {
        if (!(error instanceof UnwrapError)) throw error
        refusal = error
      }
    }
    throw new MailError('KEYS_CONTRADICT', {
      detail: 'a sealing identity was changed',
      cause: refusal
    })
  } finally {
    kek.fill(0)
  }
}

/**
 * @param {object} input
 * @param {string} input.accountId
 * @param {number} input.number - one more than that of the identity before it; 1 for the first
 * @param {number} input.keyEpoch
 * @param {SecretBuffer} input.masterKey
 * @param {number} input.nowMs
 * @returns {{ row: SealIdentityRow, publicKey: Buffer }} a new one
 */
export function makeSealIdentity({ accountId, number, keyEpoch, masterKey, nowMs }) {
  const { secret, recipient, publicKey } = generateSealIdentity()
  try {
    const row = { accountId, number, recipient, keyEpoch, createdAtMs: nowMs }
    return { row: wrapIdentity(CURRENT, row, secret, masterKey), publicKey }
  } finally {
    secret.fill(0)
  }
}

/**
 * @param {object} input
 * @param {SealIdentityRow} input.row
 * @param {SecretBuffer} input.masterKey - that the row is wrapped under
 * @param {SecretBuffer} input.nextMasterKey
 * @param {number} input.nextKeyEpoch
 * @param {string} [input.accountId] - of another account that is to have it; the row's unless told
 * @returns {SealIdentityRow} the same identity under the next master key, where another one is current
 * @throws {MailError} KEYS_CONTRADICT
 */
export function rewrapSealIdentity({
  row,
  masterKey,
  nextMasterKey,
  nextKeyEpoch,
  accountId = row.accountId
}) {
  using secret = unwrapIdentity(ANY, row, masterKey)
  const next = { ...row, accountId, keyEpoch: nextKeyEpoch }
  return wrapIdentity(FORMER, next, secret.bytes, nextMasterKey)
}

/**
 * @param {object} input
 * @param {DirectoryPort} input.directory
 * @param {string} input.accountId
 * @param {SecretBuffer} input.masterKey
 * @returns {Promise<SealIdentity[]>} the current one first, then those before it, for mail sealed earlier;
 *   the caller closes them
 * @throws {MailError} KEYS_CONTRADICT
 */
export async function openSealIdentities({ directory, accountId, masterKey }) {
  const rows = await directory.listSealIdentities(accountId)
  /** @type {SealIdentity[]} */
  const identities = []
  try {
    for (const row of rows) {
      using secret = unwrapIdentity(ANY, row, masterKey)
      identities.push(identityFromSecret(secret.bytes))
    }
  } catch (error) {
    closeSealIdentities(identities)
    throw error
  }
  return identities
}

/**
 * Recomputes the public key that mail is sealed to from the private one. Whoever can write to the
 * directory could otherwise put a key of their own there, and read all mail to come.
 *
 * The public key stands there twice, as bytes and as a recipient, and no mail is taken while these differ. If only one of them is
 * ours, the other was damaged, and is put right.
 *
 * @param {object} input
 * @param {DirectoryPort} input.directory
 * @param {Account} input.account
 * @param {SecretBuffer} input.masterKey
 * @returns {Promise<boolean>} whether one of the two was put right
 * @throws {MailError} KEYS_CONTRADICT where both belong to another key
 */
export async function requireSealKeyIsOurs({ directory, account, masterKey }) {
  const [row] = await directory.listSealIdentities(account.id)
  const refuse = () =>
    new MailError('KEYS_CONTRADICT', { detail: 'the public seal key is not the account’s own' })
  if (!row) throw refuse()
  using secret = unwrapIdentity([CURRENT], row, masterKey)
  const identity = identityFromSecret(secret.bytes)
  try {
    const { publicKey } = identity
    const ours = [
      publicKey.equals(account.sealPublicKey),
      isRecipientOf(account.sealRecipient, publicKey)
    ]
    if (!isRecipientOf(row.recipient, publicKey) || !ours.includes(true)) throw refuse()
    if (!ours.includes(false)) return false
    const { sealRecipient: recipient, sealPublicKey } = account
    await directory.replaceSealKey(account.id, {
      found: { recipient, publicKey: sealPublicKey },
      right: { recipient: row.recipient, publicKey }
    })
    return true
  } finally {
    closeSealIdentities([identity])
  }
}

/**
 * @param {readonly SealIdentity[]} identities - that nobody uses any more
 */
export function closeSealIdentities(identities) {
  for (const identity of identities) identity.destroy()
  collectSoon()
}
