/**
 * A new master key: the mailbox file is encrypted anew, and no credential that was ever copied opens it.
 *
 * The file's key and the directory's rows cannot change in one transaction, so they change in this order:
 *
 *   1. directory: the next rows, and the next master key wrapped under the present one (`rekeys`)
 *   2. file: a copy under the next key takes its place
 *   3. directory: the next rows take the place of the present ones
 *
 * After a crash the present credentials still unwrap the present master key, that one unwraps the next, and
 * the file says by which of the two it opens: before 2 the change is forgotten, after it 3 is done. Where it opens by
 * neither, nothing is decided: the file may open again one day, and there is no other copy of either key.
 *
 * The new recovery code is told before 1: from 2 on it may be in force, and the process that should tell it may have died.
 */
import { MailError } from '../errors.js'
import { KEY_BYTES } from '../crypto/kdf.js'
import { deriveRekeyKey } from '../crypto/key-derivation.js'
import { UnwrapError, associatedData, unwrapKey, wrapKey } from '../crypto/key-wrap.js'
import { SecretBuffer } from '../crypto/secret-buffer.js'
import { withExclusiveLock } from '../database/lock.js'
import { requireOwner } from './check-credential.js'
import { makeCodeCredential, makePasswordCredential } from './credential.js'
import { unlessOvertaken } from './damage.js'
import { opensWith, rekeyMailboxFile } from './mailbox-folder.js'
import { settleSwitch } from './restored.js'
import { makeSealIdentity, rewrapSealIdentity } from './seal-identity.js'
import { syncFolder } from '../support/write-file.js'

/**
 * @typedef {import('./services.js').AccountServices} AccountServices
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('./directory-port.js').KeyRows} KeyRows
 */

/** A rekey waits at most so many ms for the last session to close the mailbox. */
const LOCK_TIMEOUT_MS = 30_000
/** A login waits at most so many ms for a rekey that may be under way; then it is told to come back. */
const SETTLE_TIMEOUT_MS = 2_000

/**
 * @param {string} accountId
 * @param {number} nextKeyEpoch
 * @returns {Buffer}
 */
const rekeyAssociated = (accountId, nextKeyEpoch) =>
  associatedData('rekey', [accountId, nextKeyEpoch])

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {Account} input.account
 * @param {Uint8Array} input.password - the account's password; the caller zeroes it
 * @param {(recoveryCode: string) => Promise<void>} [input.onRecoveryCode] - is told the new code before anything changes, and
 *   calls the rekey off by throwing; where the rekey fails after that, the new code may be in force all the same
 * @returns {Promise<{ recoveryCode: string, revoked: Credential[], isFinished: boolean }>} a new recovery code, to be shown
 *   once, and the app passwords that had to go: their codes are known to their devices alone. `isFinished` is false where the
 *   directory does not take the new rows now: the next login finishes the rekey
 * @throws {MailError} AUTHENTICATION_FAILED, BUSY while the mailbox is open elsewhere, DISK_FULL, THROTTLED,
 *   ACCOUNT_DAMAGED; BUSY or ACCOUNT_NOT_FOUND where the account gets other keys, or is deleted, meanwhile
 */
export async function rekeyAccount(input) {
  try {
    return await rekey(input)
  } catch (error) {
    throw await unlessOvertaken(input.services.directory, input.account, error)
  }
}

/** @param {Parameters<typeof rekeyAccount>[0]} input */
async function rekey({ services, account, password, onRecoveryCode }) {
  const { directory, clock } = services
  const checked = await requireOwner({ services, account, secret: password })
  using masterKey = checked.masterKey
  if (checked.credential.kind !== 'password') throw new MailError('AUTHENTICATION_FAILED')
  if (await settleRekey({ services, account, masterKey })) {
    throw new MailError('BUSY', { detail: 'an interrupted rekey was finished first' })
  }
  // A mailbox that is to come back from a backup is under the present key.
  await settleSwitch({ directory, account })
  using nextMasterKey = SecretBuffer.random(KEY_BYTES)
  const next = await makeNextRows({
    services,
    account,
    password,
    proved: checked.credential,
    masterKey,
    nextMasterKey
  })
  const { keyEpoch } = next.rows
  const keys = { account, keyEpoch, masterKey, nextMasterKey }
  const { revoked, isFinished } = await withExclusiveLock(
    account.folder,
    { timeoutMs: LOCK_TIMEOUT_MS },
    async () => {
      const wrappedNextKey = wrapNextKey(keys)
      await onRecoveryCode?.(next.recoveryCode)
      await directory.beginRekey({
        accountId: account.id,
        wrappedNextKey,
        next: next.rows,
        startedAtMs: clock.nowMs()
      })
      // From here on no app password is added.
      const credentials = await directory.listCredentials(account.id)
      await rekeyFile(directory, keys)
      return {
        revoked: credentials.filter(({ kind }) => kind === 'app-password'),
        isFinished: await tryToFinish(directory, keys)
      }
    }
  )
  services.unlocker.forget(account.id)
  if (isFinished)
    directory.audit({ action: 'account-rekey', accountId: account.id, detail: { keyEpoch } })
  return { recoveryCode: next.recoveryCode, revoked, isFinished }
}

/**
 * What one rekey is about.
 *
 * @typedef {object} KeyExchange
 * @property {Account} account
 * @property {number} keyEpoch - the next one
 * @property {SecretBuffer} masterKey - the present one
 * @property {SecretBuffer} nextMasterKey
 */

/**
 * @param {KeyExchange} keys
 * @returns {Buffer} the next master key, as `settleRekey` unwraps it with the present one
 */
function wrapNextKey({ account, keyEpoch, masterKey, nextMasterKey }) {
  const kek = deriveRekeyKey(masterKey.bytes)
  const associated = rekeyAssociated(account.id, keyEpoch)
  try {
    return wrapKey({ kek, key: nextMasterKey.bytes, associated })
  } finally {
    kek.fill(0)
  }
}

/**
 * Gives the mailbox's file its next key, or cancels the rekey.
 *
 * @param {AccountServices['directory']} directory
 * @param {KeyExchange} keys
 * @throws {MailError} as `rekeyMailboxFile`; ACCOUNT_DAMAGED besides where the file opens with neither key: nothing is
 *   cancelled then
 */
async function rekeyFile(directory, { account, keyEpoch, masterKey, nextMasterKey }) {
  // Looked up again: a restore may have put a file of another cipher in the place.
  const cipher = (await directory.findAccount(account.id))?.cipher ?? null
  const file = { folder: account.folder, cipher, masterKey, nextMasterKey }
  try {
    await rekeyMailboxFile(file)
  } catch (error) {
    // The rename may have happened although what came after it failed: the file says.
    if (!isUnderNextKey(file)) await directory.cancelRekey(account.id, keyEpoch)
    throw error
  }
}

/**
 * @param {AccountServices['directory']} directory
 * @param {KeyExchange} keys - the file has the next one
 * @returns {Promise<boolean>} false where the directory is busy or full: there is no way back, the caller must get the code,
 *   and the next login finishes
 */
async function tryToFinish(directory, { account, keyEpoch }) {
  try {
    await directory.finishRekey(account.id, keyEpoch)
    return true
  } catch (error) {
    if (!(error instanceof MailError) || !error.temporary) throw error
    return false
  }
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {Account} input.account
 * @param {Uint8Array} input.password
 * @param {Credential} input.proved - the present password
 * @param {SecretBuffer} input.masterKey
 * @param {SecretBuffer} input.nextMasterKey
 * @returns {Promise<{ rows: KeyRows, recoveryCode: string }>}
 */
async function makeNextRows({ services, account, password, proved, masterKey, nextMasterKey }) {
  const { directory, clock } = services
  const keyEpoch = proved.keyEpoch + 1
  const accountId = account.id
  const credential = await makePasswordCredential({
    frame: {
      accountId,
      keyEpoch,
      id: proved.id,
      label: proved.label,
      version: proved.version + 1,
      createdAtMs: proved.createdAtMs
    },
    password,
    masterKey: nextMasterKey,
    services
  })
  const recovery = makeCodeCredential({
    kind: 'recovery',
    frame: { accountId, keyEpoch },
    masterKey: nextMasterKey,
    services
  })
  const oldIdentities = await directory.listSealIdentities(accountId)
  const identity = makeSealIdentity({
    accountId,
    number: 1 + Math.max(0, ...oldIdentities.map(({ number }) => number)),
    keyEpoch,
    masterKey: nextMasterKey,
    nowMs: clock.nowMs()
  })
  // Mail that was sealed to the old public key, or is being sealed to it right now, still opens.
  const kept = oldIdentities.map((row) =>
    rewrapSealIdentity({ row, masterKey, nextMasterKey, nextKeyEpoch: keyEpoch })
  )
  return {
    recoveryCode: recovery.text,
    rows: {
      keyEpoch,
      sealRecipient: identity.row.recipient,
      sealPublicKey: identity.publicKey,
      credentials: [credential, recovery.credential],
      sealIdentities: [identity.row, ...kept]
    }
  }
}

/**
 * To be asked before one of two keys goes for ever. A first page that is damaged, or that the disk does not give back, makes
 * both keys look wrong.
 *
 * @param {object} input
 * @param {string} input.folder - nobody has its mailbox open: the caller holds mail.lock exclusively
 * @param {Account['cipher']} input.cipher
 * @param {SecretBuffer} input.masterKey
 * @param {SecretBuffer} input.nextMasterKey
 * @returns {boolean} true: the mailbox opens with the next key; false: with the present one
 * @throws {MailError} ACCOUNT_DAMAGED where it opens with neither
 */
function isUnderNextKey({ folder, cipher, masterKey, nextMasterKey }) {
  if (opensWith({ folder, cipher, masterKey: nextMasterKey })) return true
  if (opensWith({ folder, cipher, masterKey })) return false
  throw new MailError('ACCOUNT_DAMAGED', {
    detail: 'a rekey is pending, and neither key opens the mailbox: both are kept'
  })
}

/**
 * Finishes, or cancels, a rekey that a crash interrupted.
 *
 * @param {object} input
 * @param {Pick<AccountServices, 'directory'>} input.services
 * @param {Account} input.account
 * @param {SecretBuffer} input.masterKey - that a present credential unwraps
 * @returns {Promise<boolean>} true where the rows have changed: then `masterKey` is not the account's any more
 * @throws {MailError} BUSY where the rekey is not interrupted but under way; ACCOUNT_DAMAGED where the row was changed, or
 *   the mailbox opens with neither key: the rekey stays pending then
 */
export async function settleRekey({ services, account, masterKey }) {
  const { directory } = services
  if (!(await directory.findRekey(account.id))) return false
  return withExclusiveLock(account.folder, { timeoutMs: SETTLE_TIMEOUT_MS }, async () => {
    // Looked up again under the lock: whoever held it may have finished.
    const pending = await directory.findRekey(account.id)
    if (!pending) return true
    const { keyEpoch } = pending.next
    const cipher = (await directory.findAccount(account.id))?.cipher ?? null
    const kek = deriveRekeyKey(masterKey.bytes)
    try {
      const associated = rekeyAssociated(account.id, keyEpoch)
      using next = unwrapKey({ kek, wrapped: pending.wrappedNextKey, associated })
      const file = { folder: account.folder, cipher }
      const isRekeyed = isUnderNextKey({ ...file, masterKey, nextMasterKey: next })
      if (isRekeyed) {
        // The crash, or a failing disk, may have come before the file's new name was durable. If the name were lost, the keys
        // of the directory would open nothing.
        await syncFolder(account.folder)
        await directory.finishRekey(account.id, keyEpoch)
      } else await directory.cancelRekey(account.id, keyEpoch)
      directory.audit({
        action: isRekeyed ? 'rekey-finished' : 'rekey-forgotten',
        accountId: account.id
      })
      return isRekeyed
    } catch (error) {
      if (!(error instanceof UnwrapError)) throw error
      throw new MailError('ACCOUNT_DAMAGED', {
        detail: 'a pending rekey was changed',
        cause: error
      })
    } finally {
      kek.fill(0)
    }
  })
}
