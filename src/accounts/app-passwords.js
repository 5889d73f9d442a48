/**
 * App passwords: one for each device, made by the server, revoked one by one.
 */
import { MailError } from '../errors.js'
import { requireOwner } from './check-credential.js'
import { makeCodeCredential } from './credential.js'
import { requireLabel } from './label.js'
import { settleRekey } from './rekey.js'

/**
 * @typedef {import('./services.js').AccountServices} AccountServices
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('./directory-port.js').Scope} Scope
 */

/** At most so many of one account: each is for one device, and whoever makes more is a script gone wrong. */
const MAX_APP_PASSWORDS = 100

/**
 * @typedef {object} AppPassword - what may be shown of one
 * @property {string} id
 * @property {string} label
 * @property {Scope} scope
 * @property {number} createdAtMs
 * @property {number | null} expiresAtMs
 * @property {number | null} lastUsedAtMs
 */

/**
 * @param {Credential} credential
 * @returns {AppPassword}
 */
function describe({ id, label, scope, createdAtMs, expiresAtMs, lastUsedAtMs }) {
  return { id, label, scope, createdAtMs, expiresAtMs, lastUsedAtMs }
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {Account} input.account
 * @param {Uint8Array} input.secret - the account's password or recovery code; the caller zeroes it
 * @param {string} input.label - names a device in lists
 * @param {Scope} [input.scope] - read-write unless told
 * @param {number | null} [input.expiresAtMs] - never unless told
 * @param {string | null} [input.remoteAddress] - whose wish it is, for the audit log
 * @param {import('./argon2-queue.js').Standing} [input.standing] - theirs
 * @returns {Promise<{ appPassword: AppPassword, text: string }>} `text` is shown once and kept nowhere
 * @throws {MailError} AUTHENTICATION_FAILED, LIMIT, LABEL_REFUSED, THROTTLED, BUSY
 */
export async function createAppPassword({
  services,
  account,
  secret,
  label,
  scope = 'read-write',
  expiresAtMs = null,
  remoteAddress = null,
  standing
}) {
  const { directory } = services
  requireLabel(label)
  const checked = await requireOwner({ services, account, secret, ...(standing && { standing }) })
  using masterKey = checked.masterKey
  if (await settleRekey({ services, account, masterKey })) {
    throw new MailError('BUSY', { detail: 'an interrupted rekey was finished first' })
  }
  const { credential, text } = makeCodeCredential({
    kind: 'app-password',
    frame: {
      accountId: account.id,
      keyEpoch: checked.credential.keyEpoch,
      label,
      scope,
      expiresAtMs
    },
    masterKey,
    services
  })
  await directory.insertCredential(credential, checked.credential, { atMost: MAX_APP_PASSWORDS })
  directory.audit({
    action: 'app-password-create',
    accountId: account.id,
    remoteAddress,
    detail: { credential: credential.id, scope }
  })
  return { appPassword: describe(credential), text }
}

/**
 * @param {object} input
 * @param {Pick<AccountServices, 'directory'>} input.services
 * @param {Account} input.account
 * @returns {Promise<AppPassword[]>} oldest first
 */
export async function listAppPasswords({ services, account }) {
  const credentials = await services.directory.listCredentials(account.id)
  return credentials.filter(({ kind }) => kind === 'app-password').map(describe)
}

/**
 * Once this resolves the wrap is gone from the directory. Whoever copied the directory before, and has the code, can
 * open the mailbox with them until `rekeyAccount`.
 *
 * @param {object} input
 * @param {Pick<AccountServices, 'directory'>} input.services
 * @param {Account} input.account
 * @param {string} input.credentialId
 * @param {string | null} [input.remoteAddress] - whose wish it is, for the audit log
 * @returns {Promise<AppPassword>}
 * @throws {MailError} CREDENTIAL_NOT_FOUND
 */
export async function revokeAppPassword({ services, account, credentialId, remoteAddress = null }) {
  const { directory } = services
  const credential = await directory.findCredential(credentialId)
  if (credential?.accountId !== account.id || credential.kind !== 'app-password') {
    throw new MailError('CREDENTIAL_NOT_FOUND')
  }
  await directory.deleteCredential(credentialId)
  directory.audit({
    action: 'app-password-revoke',
    accountId: account.id,
    remoteAddress,
    detail: { credential: credentialId }
  })
  return describe(credential)
}
