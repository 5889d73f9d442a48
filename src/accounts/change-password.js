/**
 * Changing a password rewrites one small row and keeps all mail: the master key stays, its wrap is made
 * anew. For whoever has neither the password nor the recovery code, losing the mail (`resetAccount`) is the only way.
 */
import { MailError } from '../errors.js'
import { KEY_BYTES } from '../crypto/kdf.js'
import { SecretBuffer } from '../crypto/secret-buffer.js'
import { requireOwner } from './check-credential.js'
import {
  makeCodeCredential,
  makePasswordCredential,
  newId,
  requireUsablePassword
} from './credential.js'
import { createMailboxFolder, removeRefusedFolder } from './mailbox-folder.js'
import { makeFirstKeys, mailboxFolder } from './provision.js'
import { removePendingFolders } from './remove-account.js'
import { settleRekey } from './rekey.js'

/**
 * @typedef {import('./services.js').AccountServices} AccountServices
 * @typedef {import('./directory-port.js').Account} Account
 */

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {Account} input.account
 * @param {Uint8Array} input.oldSecret - the old password or the recovery code; the caller zeroes it
 * @param {Uint8Array} input.newPassword - the caller zeroes it
 * @param {string | null} [input.remoteAddress] - whose wish it is, for the audit log
 * @param {import('./argon2-queue.js').Standing} [input.standing] - theirs
 * @returns {Promise<{ recoveryCode: string | null }>} a new code, to be shown once, if `oldSecret` was the recovery code
 * @throws {MailError} AUTHENTICATION_FAILED, PASSWORD_REFUSED, THROTTLED, CREDENTIAL_NOT_FOUND where the account has no
 *   password, BUSY where the password was changed by somebody else meanwhile
 */
export async function changePassword({
  services,
  account,
  oldSecret,
  newPassword,
  remoteAddress = null,
  standing
}) {
  const { directory } = services
  requireUsablePassword(newPassword)
  const turn = standing && { standing }
  const checked = await requireOwner({ services, account, secret: oldSecret, ...turn })
  using masterKey = checked.masterKey
  if (await settleRekey({ services, account, masterKey })) {
    throw new MailError('BUSY', { detail: 'an interrupted rekey was finished first' })
  }
  // The row that was just proved comes first: the change holds only if it is still what it was.
  const proved = checked.credential
  const isByPassword = proved.kind === 'password'
  const current = isByPassword
    ? proved
    : await directory.findSingleCredential(account.id, 'password')
  if (!current) throw new MailError('CREDENTIAL_NOT_FOUND')
  const credentials = [
    await makePasswordCredential({
      frame: nextFrame(current),
      password: newPassword,
      masterKey,
      services,
      ...turn
    })
  ]
  let recoveryCode = null
  if (!isByPassword) {
    const frame = nextFrame(proved)
    const recovery = makeCodeCredential({ kind: 'recovery', frame, masterKey, services })
    credentials.unshift(recovery.credential)
    recoveryCode = recovery.text
  }
  const isReplaced = await directory.replaceCredentials(credentials, { version: proved.version })
  if (!isReplaced) throw new MailError('BUSY', { detail: 'the credential was changed meanwhile' })
  directory.audit({
    action: 'password-change',
    accountId: account.id,
    remoteAddress,
    detail: { by: proved.kind }
  })
  return { recoveryCode }
}

/**
 * @param {import('./directory-port.js').Credential} credential
 * @returns {import('./credential.js').CredentialFrame} the frame of the same credential for its next secret
 */
export function nextFrame({
  accountId,
  id,
  label,
  scope,
  expiresAtMs,
  createdAtMs,
  keyEpoch,
  version
}) {
  return {
    accountId,
    id,
    label,
    scope,
    expiresAtMs,
    createdAtMs,
    keyEpoch,
    version: version + 1
  }
}

/**
 * A new master key over an empty mailbox. The old keys are destroyed first of all: all mail of the account,
 * stored and still sealed, is lost for good, and so are its app passwords and its recovery code.
 *
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {Account} input.account
 * @param {Uint8Array} input.newPassword - the caller zeroes it
 * @returns {Promise<{ account: Account, recoveryCode: string, isRemoved: boolean }>} `isRemoved` is false
 *   while somebody still has the old mailbox open, or something else keeps its files, which then go later
 * @throws {MailError} PASSWORD_REFUSED, THROTTLED, DISK_FULL, ACCOUNT_NOT_FOUND
 */
export async function resetAccount({ services, account, newPassword }) {
  const { config, directory } = services
  requireUsablePassword(newPassword)
  const keyEpoch = account.keyEpoch + 1
  const { id: accountId, domain } = account
  // A name that no folder ever had: one that waits for its removal may have the plain name of this epoch.
  const folder = `${mailboxFolder({ data: config.data, domain, accountId, keyEpoch })}-${newId()}`
  using masterKey = SecretBuffer.random(KEY_BYTES)
  const made = await makeFirstKeys({
    services,
    accountId,
    password: newPassword,
    masterKey,
    keyEpoch
  })
  await createMailboxFolder({ services, folder, masterKey })
  try {
    await directory.replaceMailbox(accountId, {
      keys: made.keys,
      folder,
      cipher: config.storage.cipher
    })
  } catch (error) {
    await removeRefusedFolder(folder, error)
    throw error
  }
  directory.audit({ action: 'account-reset', accountId })
  const { left } = await removePendingFolders({ services, awaited: account.folder })
  const now = await directory.findAccount(accountId)
  if (!now) throw new MailError('ACCOUNT_NOT_FOUND')
  return {
    account: now,
    recoveryCode: made.recoveryCode,
    isRemoved: !left.includes(account.folder)
  }
}
