/**
 * Between the rows of directory.db and the plain objects of the port.
 */
import { join, relative, sep } from 'node:path'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').AccountState} AccountState
 * @typedef {import('./directory-port.js').CredentialState} CredentialState
 * @typedef {import('./directory-port.js').Credential} Credential
 * @typedef {import('./directory-port.js').KeyRows} KeyRows
 * @typedef {import('./directory-port.js').SealIdentityRow} SealIdentityRow
 */

/**
 * @param {string} dataFolder
 * @param {string} folder - absolute
 * @returns {string} as it is stored: relative, so that the data folder can move
 * @throws {RangeError} for a folder outside the data folder: nothing out there is ever removed
 */
export function storedFolder(dataFolder, folder) {
  const path = relative(dataFolder, folder)
  if (path === '' || path.split(sep).includes('..')) {
    throw new RangeError('The folder is not inside the data folder')
  }
  return path
}

/**
 * @param {any} row - of `accounts` joined with `domains`
 * @returns {AccountState}
 */
export const accountStateFromRow = (row) => ({
  isEnabled: row.is_enabled === 1,
  keyEpoch: row.key_epoch,
  tenant: row.tenant,
  quotaBytes: row.quota_bytes,
  quotaMessages: row.quota_messages,
  usedBytes: row.used_bytes
})

/**
 * @param {any} row
 * @returns {CredentialState}
 */
export const credentialStateFromRow = (row) => ({
  version: row.version,
  expiresAtMs: row.expires_at_ms
})

/**
 * @param {any} row - of `accounts` joined with `domains` and `account_seals`
 * @param {string} dataFolder
 * @returns {Account}
 */
export function accountFromRow(row, dataFolder) {
  return {
    id: row.id,
    address: row.address,
    domain: row.domain,
    ...accountStateFromRow(row),
    // In a directory out of an old backup, domains have no tenants yet.
    tenant: row.tenant ?? row.domain,
    folder: join(dataFolder, row.folder),
    createdAtMs: row.created_at_ms,
    cipher: row.cipher,
    usedMessages: row.used_messages,
    sealRecipient: row.seal_recipient,
    sealPublicKey: row.seal_public_key
  }
}

/**
 * @param {any} row
 * @returns {Credential}
 */
export function credentialFromRow(row) {
  return {
    id: row.id,
    accountId: row.account_id,
    kind: row.kind,
    label: row.label,
    scope: row.scope,
    ...credentialStateFromRow(row),
    argon2:
      row.argon2_memory_kib === null
        ? null
        : {
            memoryKiB: row.argon2_memory_kib,
            passes: row.argon2_passes,
            parallelism: row.argon2_parallelism
          },
    pepperId: row.pepper_id,
    keyEpoch: row.key_epoch,
    lookup: row.lookup,
    salt: row.salt,
    commitment: row.commitment,
    wrappedKey: row.wrapped_key,
    createdAtMs: row.created_at_ms,
    changedAtMs: row.changed_at_ms,
    lastUsedAtMs: row.last_used_at_ms
  }
}

/**
 * @param {Credential} credential
 * @returns {Record<string, unknown>} bound parameters
 */
export function credentialToRow(credential) {
  return {
    id: credential.id,
    accountId: credential.accountId,
    kind: credential.kind,
    label: credential.label,
    scope: credential.scope,
    expiresAtMs: credential.expiresAtMs,
    version: credential.version,
    memoryKiB: credential.argon2?.memoryKiB ?? null,
    passes: credential.argon2?.passes ?? null,
    parallelism: credential.argon2?.parallelism ?? null,
    pepperId: credential.pepperId,
    keyEpoch: credential.keyEpoch,
    lookup: credential.lookup,
    salt: credential.salt,
    commitment: credential.commitment,
    wrappedKey: credential.wrappedKey,
    createdAtMs: credential.createdAtMs,
    changedAtMs: credential.changedAtMs,
    lastUsedAtMs: credential.lastUsedAtMs
  }
}

/**
 * @param {any} row
 * @returns {SealIdentityRow}
 */
export function sealIdentityFromRow(row) {
  return {
    accountId: row.account_id,
    number: row.number,
    recipient: row.recipient,
    keyEpoch: row.key_epoch,
    wrappedSecret: row.wrapped_secret,
    createdAtMs: row.created_at_ms
  }
}

/**
 * @param {any} row - of maintenance_runs
 * @returns {import('./directory-port.js').MaintenanceRun}
 */
export function runFromRow(row) {
  return {
    accountId: row.account_id,
    job: row.job,
    atMs: row.at_ms,
    why: row.why,
    result: row.result,
    note: row.note,
    before: JSON.parse(row.before),
    after: JSON.parse(row.after),
    tookMs: row.took_ms
  }
}

/**
 * @param {Buffer | null} bytes
 * @returns {string | null}
 */
const toBase64 = (bytes) => bytes && bytes.toString('base64')

/**
 * @param {string} text
 * @returns {Buffer}
 */
const fromBase64 = (text) => Buffer.from(text, 'base64')

/**
 * @param {KeyRows} rows
 * @returns {string} JSON
 */
export function keyRowsToJson(rows) {
  return JSON.stringify({
    ...rows,
    sealPublicKey: toBase64(rows.sealPublicKey),
    credentials: rows.credentials.map((credential) => ({
      ...credential,
      lookup: toBase64(credential.lookup),
      salt: toBase64(credential.salt),
      commitment: toBase64(credential.commitment),
      wrappedKey: toBase64(credential.wrappedKey)
    })),
    sealIdentities: rows.sealIdentities.map((identity) => ({
      ...identity,
      wrappedSecret: toBase64(identity.wrappedSecret)
    }))
  })
}

/**
 * @param {string} json - of keyRowsToJson
 * @returns {KeyRows}
 */
export function keyRowsFromJson(json) {
  const rows = JSON.parse(json)
  return {
    ...rows,
    sealPublicKey: fromBase64(rows.sealPublicKey),
    credentials: rows.credentials.map((/** @type {any} */ credential) => ({
      ...credential,
      lookup: credential.lookup === null ? null : fromBase64(credential.lookup),
      salt: fromBase64(credential.salt),
      commitment: fromBase64(credential.commitment),
      wrappedKey: fromBase64(credential.wrappedKey)
    })),
    sealIdentities: rows.sealIdentities.map((/** @type {any} */ identity) => ({
      ...identity,
      wrappedSecret: fromBase64(identity.wrappedSecret)
    }))
  }
}
