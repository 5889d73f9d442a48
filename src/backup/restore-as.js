/**
 * A mailbox of a backup as an account of its own, beside the one that was backed up. Each credential is bound to its account:
 * so this needs the user's password, and the new account has the same one.
 */
import { newId } from '../accounts/credential.js'
import { makeFirstKeys, mailboxFolder, requireNewAddress } from '../accounts/provision.js'
import { rewrapSealIdentity } from '../accounts/seal-identity.js'
import { requireEntry } from './choose.js'
import { restoreAsNewAccount } from './new-account.js'
import { openPastAccount } from './past-credential.js'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 */

/**
 * @param {object} input
 * @param {import('../accounts/services.js').AccountServices} input.services
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {import('./repository.js').Generation} input.generation
 * @param {Account} input.account - whose mailbox
 * @param {import('../accounts/directory-snapshot.js').AccountKeys | null} input.keys - see past-credential.js
 * @param {string} input.address - of the new account
 * @param {Uint8Array} input.password - of the old one at the time of `keys`, or now; the caller zeroes it
 * @param {(bytes: number) => void} [input.onRead]
 * @returns {Promise<{ account: Account, recoveryCode: string }>} the code is to be shown once
 * @throws {MailError} ACCOUNT_EXISTS, AUTHENTICATION_FAILED, RESTORE_REFUSED, BACKUP_MISSING, BACKUP_DAMAGED, DISK_FULL …
 */
export async function restoreAs({
  services,
  target,
  generation,
  account,
  keys,
  address,
  password,
  onRead
}) {
  const { config } = services
  const entry = requireEntry(generation, account.id)
  const parsed = await requireNewAddress({ services, address })
  const past = await openPastAccount({ services, account, entry, keys, secret: password })
  using masterKey = past.masterKey
  const accountId = newId()
  const keyEpoch = 1
  // What waited in the old account's spool is sealed to that account: it comes in at the first login.
  const olderIdentities = (await past.directory.listSealIdentities(account.id)).map((row) =>
    rewrapSealIdentity({
      row,
      masterKey,
      nextMasterKey: masterKey,
      nextKeyEpoch: keyEpoch,
      accountId
    })
  )
  const first = await makeFirstKeys({
    services,
    accountId,
    password,
    masterKey,
    keyEpoch,
    olderIdentities
  })
  const made = await restoreAsNewAccount({
    services,
    target,
    generation,
    entry,
    account: {
      id: accountId,
      address: parsed.address,
      domain: parsed.domain,
      folder: mailboxFolder({ data: config.data, domain: parsed.domain, accountId }),
      quotaBytes: account.quotaBytes,
      quotaMessages: account.quotaMessages,
      keys: first.keys
    },
    action: 'restore-as',
    ...(onRead && { onRead })
  })
  return { account: made, recoveryCode: first.recoveryCode }
}
