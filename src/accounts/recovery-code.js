/**
 * A new recovery code in the place of the old one, which opens nothing from then on.
 */
import { MailError } from '../errors.js'
import { nextFrame } from './change-password.js'
import { requireOwner } from './check-credential.js'
import { makeCodeCredential } from './credential.js'
import { settleRekey } from './rekey.js'

/**
 * @param {object} input
 * @param {import('./services.js').AccountServices} input.services
 * @param {import('./directory-port.js').Account} input.account
 * @param {Uint8Array} input.secret - the account's password or its present recovery code; the caller zeroes it
 * @param {string | null} [input.remoteAddress] - whose wish it is, for the audit log
 * @param {import('./argon2-queue.js').Standing} [input.standing] - theirs
 * @returns {Promise<string>} to be shown once
 * @throws {MailError} AUTHENTICATION_FAILED, THROTTLED, BUSY where a credential was changed by somebody else meanwhile
 */
export async function renewRecoveryCode({
  services,
  account,
  secret,
  remoteAddress = null,
  standing
}) {
  const { directory } = services
  const checked = await requireOwner({ services, account, secret, ...(standing && { standing }) })
  using masterKey = checked.masterKey
  if (await settleRekey({ services, account, masterKey })) {
    throw new MailError('BUSY', { detail: 'an interrupted rekey was finished first' })
  }
  const present = await directory.findSingleCredential(account.id, 'recovery')
  const { keyEpoch } = checked.credential
  const { credential, text } = makeCodeCredential({
    kind: 'recovery',
    frame: present ? nextFrame(present) : { accountId: account.id, keyEpoch },
    masterKey,
    services
  })
  if (present) {
    const isReplaced = await directory.replaceCredentials([credential], {
      version: present.version,
      proved: checked.credential
    })
    if (!isReplaced) throw new MailError('BUSY', { detail: 'the code was changed meanwhile' })
  } else await directory.insertCredential(credential, checked.credential)
  directory.audit({ action: 'recovery-code-create', accountId: account.id, remoteAddress })
  return text
}
