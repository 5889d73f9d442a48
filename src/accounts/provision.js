/**
 * A new account: keys, an empty mailbox, and last of all its rows in the directory, in one transaction. A
 * crash before that leaves a folder that is removed later, never an account without a mailbox.
 */
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { SecretBuffer } from '../crypto/secret-buffer.js'
import { KEY_BYTES } from '../crypto/kdf.js'
import { domainFolder, parseAddress } from './address.js'
import {
  makeCodeCredential,
  makePasswordCredential,
  newId,
  requireUsablePassword
} from './credential.js'
import { createMailboxFolder, removeRefusedFolder } from './mailbox-folder.js'
import { makeSealIdentity } from './seal-identity.js'

/**
 * @typedef {import('./services.js').AccountServices} AccountServices
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').KeyRows} KeyRows
 */

/**
 * @typedef {object} Provisioned
 * @property {Account} account
 * @property {string} recoveryCode - to be shown once
 * @property {SecretBuffer} masterKey - the caller disposes of it
 */

/**
 * @param {object} input
 * @param {string} input.data - the data folder
 * @param {string} input.domain - canonical
 * @param {string} input.accountId
 * @param {number} [input.keyEpoch] - from 2 on it is part of the name: a new mailbox of the account lies beside the old one
 * @returns {string} absolute
 */
export function mailboxFolder({ data, domain, accountId, keyEpoch = 1 }) {
  const name = keyEpoch === 1 ? accountId : `${accountId}-${keyEpoch}`
  return join(data, 'mail', domainFolder(domain), name)
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {string} input.accountId
 * @param {Uint8Array} input.password
 * @param {SecretBuffer} input.masterKey
 * @param {number} input.keyEpoch
 * @param {import('./directory-port.js').SealIdentityRow[]} [input.olderIdentities] - of the account, for mail that was
 *   sealed before
 * @returns {Promise<{ keys: KeyRows, recoveryCode: string }>} all rows of a mailbox that is new
 */
export async function makeFirstKeys({
  services,
  accountId,
  password,
  masterKey,
  keyEpoch,
  olderIdentities = []
}) {
  const frame = { accountId, keyEpoch }
  const credential = await makePasswordCredential({ frame, password, masterKey, services })
  const recovery = makeCodeCredential({ kind: 'recovery', frame, masterKey, services })
  const nowMs = services.clock.nowMs()
  const number = 1 + Math.max(0, ...olderIdentities.map((older) => older.number))
  const identity = makeSealIdentity({ accountId, number, keyEpoch, masterKey, nowMs })
  return {
    recoveryCode: recovery.text,
    keys: {
      keyEpoch,
      sealRecipient: identity.row.recipient,
      sealPublicKey: identity.publicKey,
      credentials: [credential, recovery.credential],
      sealIdentities: [identity.row, ...olderIdentities]
    }
  }
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {string} input.address - a name without a domain gets the default one
 * @param {Uint8Array} input.password - the caller zeroes it
 * @param {number} [input.quotaBytes] - 0: no limit; the configuration's unless told
 * @param {number} [input.quotaMessages] - 0: no limit; the configuration's unless told
 * @param {string} [input.tenant] - another than its domain's
 * @returns {Promise<Provisioned>}
 * @throws {MailError} ADDRESS_INVALID, ACCOUNT_EXISTS, PASSWORD_REFUSED, THROTTLED, DISK_FULL, TENANT_NOT_FOUND, LIMIT
 */
export async function provisionAccount({
  services,
  address,
  password,
  quotaBytes,
  quotaMessages,
  tenant
}) {
  const { config, directory } = services
  const parsed = await requireNewAddress({ services, address })
  requireUsablePassword(password)

  const accountId = newId()
  const folder = mailboxFolder({ data: config.data, domain: parsed.domain, accountId })
  const masterKey = SecretBuffer.random(KEY_BYTES)
  try {
    const made = await makeFirstKeys({ services, accountId, password, masterKey, keyEpoch: 1 })
    await createMailboxFolder({ services, folder, masterKey })
    const account = await createRows({
      services,
      folder,
      account: {
        id: accountId,
        address: parsed.address,
        domain: parsed.domain,
        folder,
        cipher: config.storage.cipher,
        quotaBytes: quotaBytes ?? config.accounts.quotaBytes,
        quotaMessages: quotaMessages ?? config.accounts.quotaMessages,
        keys: made.keys,
        ...(tenant !== undefined && { tenant })
      }
    })
    directory.audit({ action: 'account-create', accountId })
    return { account, recoveryCode: made.recoveryCode, masterKey }
  } catch (error) {
    masterKey.dispose()
    throw error
  }
}

/**
 * Checks early that the address is free, so that nobody types a password for nothing and a second creation of an account costs
 * no argon2; the directory checks it again.
 *
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {string} input.address - a name without a domain gets the default one
 * @returns {Promise<import('./address.js').ParsedAddress>}
 * @throws {MailError} ADDRESS_INVALID, ACCOUNT_EXISTS
 */
export async function requireNewAddress({ services: { config, directory }, address }) {
  const parsed = parseAddress(address, { defaultDomain: config.defaultDomain })
  const account = await directory.findByAddress(parsed.address)
  if (!account) return parsed
  // user+tag@ resolves to user@, and may still become an account of its own.
  const taken = [account.address, ...(await directory.listAliases(account.id))]
  if (taken.includes(parsed.address)) throw new MailError('ACCOUNT_EXISTS')
  return parsed
}

/**
 * @param {object} input
 * @param {AccountServices} input.services
 * @param {string} input.folder
 * @param {import('./directory-port.js').NewAccount} input.account
 * @returns {Promise<Account>}
 */
async function createRows({ services, folder, account }) {
  try {
    return await services.directory.createAccount(account)
  } catch (error) {
    await removeRefusedFolder(folder, error)
    throw error
  }
}
