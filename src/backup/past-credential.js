/**
 * The master key of a mailbox in a backup, from the password of today or of then.
 */
import { requireOwner } from '../accounts/check-credential.js'
import { MailError } from '../errors.js'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/directory-port.js').DirectoryPort} DirectoryPort
 * @typedef {import('../accounts/directory-snapshot.js').AccountKeys} AccountKeys
 */

/**
 * @param {object} input
 * @param {import('../accounts/services.js').AccountServices} input.services
 * @param {Account} input.account
 * @param {import('./repository.js').AccountEntry} input.entry
 * @param {AccountKeys | null} input.keys - of the entry, where the operator's recovery key has opened them; needed where
 *   the account has another key now
 * @param {Uint8Array} input.secret - the password or recovery code; the caller zeroes it
 * @returns {Promise<{ masterKey: import('../crypto/secret-buffer.js').SecretBuffer, directory: DirectoryPort }>} the key,
 *   which the caller disposes of, and a directory that answers for the account as it was
 * @throws {MailError} AUTHENTICATION_FAILED, RESTORE_REFUSED where `keys` are needed
 */
export async function openPastAccount({ services, account, entry, keys, secret }) {
  const isToday = account.keyEpoch === entry.keyEpoch
  if (!isToday && !keys)
    throw new MailError('RESTORE_REFUSED', {
      detail: 'the account has got another key since: the recovery key of the backups is needed'
    })
  const directory =
    isToday || !keys ? services.directory : directoryOfThen(services.directory, keys)
  const { masterKey } = await requireOwner({
    services: { ...services, directory },
    account,
    secret
  })
  return { masterKey, directory }
}

/**
 * @param {DirectoryPort} directory
 * @param {AccountKeys} keys
 * @returns {DirectoryPort} that knows the account's credentials as of the backup
 */
function directoryOfThen(directory, { rows }) {
  return {
    ...directory,
    findSingleCredential: async (_accountId, kind) =>
      rows.credentials.find((credential) => credential.kind === kind) ?? null,
    listSealIdentities: async () => [...rows.sealIdentities].sort((a, b) => b.number - a.number)
  }
}
