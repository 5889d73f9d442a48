/**
 * Brings a deleted account back, under its name or another, with the credentials that it had. Its keys come out of the
 * backup, so that the operator's recovery key is needed, and no password.
 */
import { randomBytes } from 'node:crypto'
import { mailboxFolder } from '../accounts/provision.js'
import { parseAddress } from '../accounts/address.js'
import { MailError } from '../errors.js'
import { requireEntry } from './choose.js'
import { restoreAsNewAccount } from './new-account.js'
import { openKeys } from './sealed-directory.js'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('./sealed-directory.js').FoundAccount} FoundAccount
 */

/**
 * @param {object} input
 * @param {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'config' | 'clock' | 'logger'>} input.services
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {import('./repository.js').Generation} input.generation
 * @param {import('./sealed.js').RecoveryKey} input.recoveryKey
 * @param {FoundAccount} input.found
 * @param {string} [input.address] - another name for it
 * @param {(bytes: number) => void} [input.onRead]
 * @returns {Promise<{ account: Account, lostAliases: string[], isTenantLost: boolean }>} aliases that others have now;
 *   whether the tenant that it was given to is gone, so that it has its domain's
 * @throws {MailError} ACCOUNT_EXISTS, RESTORE_REFUSED where it was erased from the backups, BACKUP_DAMAGED, DISK_FULL …
 */
export async function restoreDeleted({
  services,
  target,
  generation,
  recoveryKey,
  found,
  address,
  onRead
}) {
  const { directory, config } = services
  const { account, aliases, ownTenant } = found
  const today = await directory.findAccount(account.id)
  if (today)
    throw new MailError('ACCOUNT_EXISTS', { detail: `it was not deleted: it is ${today.address}` })
  const entry = requireEntry(generation, account.id)
  const parsed = parseAddress(address ?? account.address, { defaultDomain: config.defaultDomain })
  const keys = await openKeys(target, entry, recoveryKey)
  if (!keys) throw new MailError('RESTORE_REFUSED', { detail: 'its keys were erased' })
  if (keys.rekey)
    throw new MailError('RESTORE_REFUSED', { detail: 'a rekey was under way: take another backup' })

  const isTenantLost = ownTenant !== null && !(await directory.hasTenant(ownTenant))
  const place = mailboxFolder({ data: config.data, domain: parsed.domain, accountId: account.id })
  // Never the deleted account's own: its files may still have to be removed, whether they are there or not.
  const folder = `${place}-${randomBytes(4).toString('hex')}`
  const made = await restoreAsNewAccount({
    services,
    target,
    generation,
    entry,
    account: {
      id: account.id,
      address: parsed.address,
      domain: parsed.domain,
      folder,
      quotaBytes: account.quotaBytes,
      quotaMessages: account.quotaMessages,
      keys: keys.rows,
      aliases,
      isEnabled: account.isEnabled,
      ...(ownTenant !== null && !isTenantLost && { tenant: ownTenant })
    },
    action: 'restore-deleted',
    ...(onRead && { onRead })
  })
  const has = new Set([made.address, ...(await directory.listAliases(made.id))])
  const lostAliases = aliases.filter((alias) => !has.has(alias))
  return { account: made, lostAliases, isTenantLost }
}
