/**
 * Domains, accounts and addresses.
 */
import { MailError, isMailError } from '../errors.js'
import { parseAddress, withoutDetail } from './address.js'
import { writeAuditEvent } from './directory-audit.js'
import { deleteKeyRows, requireKeyEpoch, writeKeyRows } from './directory-keys.js'
import { forgetFindings, keepMaintenanceRequests } from './directory-maintenance.js'
import { queueRemoval, takeFolder } from './directory-removals.js'
import { writeRestore } from './directory-restores.js'
import { accountFromRow, storedFolder } from './directory-rows.js'
import { ensureDomain, requireTenantSeat } from './directory-tenants.js'

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').NewAccount} NewAccount
 * @typedef {import('./directory-port.js').KeyRows} KeyRows
 */

const SELECT = `SELECT a.*, d.name AS domain, coalesce(a.tenant_id, d.tenant_id) AS tenant,
    s.recipient AS seal_recipient, s.public_key AS seal_public_key
  FROM accounts a JOIN domains d ON d.id = a.domain_id JOIN account_seals s ON s.account_id = a.id`

/**
 * Removes an account that has no wrapped keys any more; part of the caller's transaction.
 *
 * @param {DirectoryConnection} connection
 * @param {string} accountId
 */
export function deleteAccountRows(connection, accountId) {
  for (const table of ['addresses', 'account_seals'])
    connection.prepare(`DELETE FROM ${table} WHERE account_id = ?`).run(accountId)
  connection.prepare('DELETE FROM accounts WHERE id = ?').run(accountId)
}

/** The account part of the directory. */
export class DirectoryAccounts {
  /**
   * @param {object} options
   * @param {DirectoryConnection} options.connection
   * @param {string} options.dataFolder - absolute
   * @param {string | undefined} options.defaultDomain
   */
  constructor({ connection, dataFolder, defaultDomain }) {
    this.connection = connection
    this.dataFolder = dataFolder
    this.defaultDomain = defaultDomain
  }

  /**
   * @param {string} text - as typed at a login or named by a sender
   * @returns {Promise<Account | null>}
   */
  async findByAddress(text) {
    const parsed = this.#parse(text)
    if (!parsed) return null
    // An account of the full name goes before the account that the detail belongs to.
    const candidates = [parsed.address, withoutDetail(parsed)]
    const byAddress = this.connection.prepare(
      `${SELECT} JOIN addresses n ON n.account_id = a.id WHERE n.address = ?`
    )
    const row = await this.connection.read(() => {
      for (const address of candidates) {
        const found = address === null ? undefined : byAddress.get(address)
        if (found) return found
      }
      return undefined
    })
    return row ? accountFromRow(row, this.dataFolder) : null
  }

  /**
   * @param {string} text
   * @returns {import('./address.js').ParsedAddress | null}
   */
  #parse(text) {
    try {
      return parseAddress(text, { defaultDomain: this.defaultDomain })
    } catch (error) {
      if (isMailError(error, 'ADDRESS_INVALID')) return null
      throw error
    }
  }

  /**
   * @param {string} accountId
   * @returns {Promise<Account | null>}
   */
  async findAccount(accountId) {
    const row = await this.connection.read(() =>
      this.connection.prepare(`${SELECT} WHERE a.id = ?`).get(accountId)
    )
    return row ? accountFromRow(row, this.dataFolder) : null
  }

  /**
   * @param {{ domain?: string, tenant?: string }} [filter]
   * @returns {Promise<Account[]>} by address
   */
  async listAccounts({ domain, tenant } = {}) {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare(
          `${SELECT} WHERE ($domain IS NULL OR d.name = $domain)
             AND ($tenant IS NULL OR coalesce(a.tenant_id, d.tenant_id) = $tenant)
           ORDER BY d.name, a.address`
        )
        .all({ domain: domain ?? null, tenant: tenant ?? null })
    )
    return rows.map((row) => accountFromRow(row, this.dataFolder))
  }

  /** @returns {Promise<{ name: string, accounts: number }[]>} */
  listDomains() {
    return this.connection.read(() =>
      this.connection
        .prepare(
          `SELECT d.name, count(a.id) AS accounts FROM domains d
           LEFT JOIN accounts a ON a.domain_id = d.id GROUP BY d.id ORDER BY d.name`
        )
        .all()
    )
  }

  /**
   * @param {NewAccount} account
   * @returns {Promise<Account>}
   * @throws {MailError} ACCOUNT_EXISTS; TENANT_NOT_FOUND; LIMIT where the tenant may have no more; BUSY where the folder's
   *   files are to be removed
   */
  async createAccount(account) {
    const { connection } = this
    const folder = storedFolder(this.dataFolder, account.folder)
    const nowMs = connection.clock.nowMs()
    await connection.write(() => {
      this.#requireFree(account.address)
      takeFolder(connection, folder)
      ensureDomain(connection, account.domain)
      const { tenant_id: ofDomain } = connection
        .prepare('SELECT tenant_id FROM domains WHERE name = ?')
        .get(account.domain)
      const tenant = account.tenant ?? ofDomain
      requireTenantSeat(connection, tenant)
      connection
        .prepare(
          `INSERT INTO accounts (id, domain_id, address, folder, created_at_ms, is_enabled, cipher,
             quota_bytes, quota_messages, key_epoch, tenant_id)
           VALUES ($id, (SELECT id FROM domains WHERE name = $domain), $address, $folder, $nowMs,
             $isEnabled, $cipher, $quotaBytes, $quotaMessages, $keyEpoch, $tenant)`
        )
        .run({
          id: account.id,
          domain: account.domain,
          address: account.address,
          folder,
          nowMs,
          isEnabled: Number(account.isEnabled ?? true),
          cipher: account.cipher,
          quotaBytes: account.quotaBytes,
          quotaMessages: account.quotaMessages,
          keyEpoch: account.keys.keyEpoch,
          tenant: tenant === ofDomain ? null : tenant
        })
      this.#insertAddress(account.id, account.address)
      for (const alias of account.aliases ?? [])
        if (!this.#isTaken(alias)) this.#insertAddress(account.id, alias)
      writeKeyRows(connection, account.id, account.keys)
      if (account.restoredFrom !== undefined)
        writeRestore(connection, {
          accountId: account.id,
          generation: account.restoredFrom,
          state: 'lift',
          staged: '',
          replaced: '',
          cipher: account.cipher,
          requestedAtMs: nowMs
        })
    })
    return /** @type {Account} */ (await this.findAccount(account.id))
  }

  /**
   * Cryptographic erasure: once this resolves, no wrapped key of the account is left in the directory. The same transaction
   * writes the deletion to the audit log: without that row the backups would keep the keys.
   *
   * @param {string} accountId
   * @throws {MailError} ACCOUNT_NOT_FOUND
   */
  async deleteAccount(accountId) {
    const { connection } = this
    await connection.erase(() => {
      const folder = this.#folderOf(accountId)
      const atMs = connection.clock.nowMs()
      writeAuditEvent(connection, { atMs, action: 'account-delete', accountId })
      deleteKeyRows(connection, accountId)
      queueRemoval(connection, folder)
      deleteAccountRows(connection, accountId)
    })
  }

  /**
   * @param {string} accountId
   * @param {{ isEnabled?: boolean, quotaBytes?: number, quotaMessages?: number, tenant?: string }} change
   * @throws {MailError} ACCOUNT_NOT_FOUND, TENANT_NOT_FOUND, LIMIT
   */
  async updateAccount(accountId, { isEnabled, quotaBytes, quotaMessages, tenant }) {
    const { changes } = await this.connection.write(() => {
      if (tenant !== undefined) this.#assignTenant(accountId, tenant)
      return this.connection
        .prepare(
          `UPDATE accounts SET is_enabled = coalesce($isEnabled, is_enabled),
             quota_bytes = coalesce($quotaBytes, quota_bytes),
             quota_messages = coalesce($quotaMessages, quota_messages) WHERE id = $accountId`
        )
        .run({
          accountId,
          isEnabled: isEnabled === undefined ? null : Number(isEnabled),
          quotaBytes: quotaBytes ?? null,
          quotaMessages: quotaMessages ?? null
        })
    })
    if (changes === 0) throw new MailError('ACCOUNT_NOT_FOUND')
  }

  /**
   * @param {string} accountId
   * @param {{ cipher: import('../database/setup-pragma.js').Cipher, folder: string }} found - `folder`: where, absolute; nothing
   *   is recorded where another mailbox has taken that one's place since
   */
  async recordCipher(accountId, { cipher, folder }) {
    const path = storedFolder(this.dataFolder, folder)
    await this.connection.write(() =>
      this.connection
        .prepare('UPDATE accounts SET cipher = ? WHERE id = ? AND folder = ?')
        .run(cipher, accountId, path)
    )
  }

  /**
   * Inside a transaction. An account that is given to its domain's tenant follows the domain again.
   *
   * @param {string} accountId
   * @param {string} tenant
   */
  #assignTenant(accountId, tenant) {
    const { connection } = this
    const now = connection
      .prepare(
        `SELECT d.tenant_id AS of_domain, coalesce(a.tenant_id, d.tenant_id) AS tenant
         FROM accounts a JOIN domains d ON d.id = a.domain_id WHERE a.id = ?`
      )
      .get(accountId)
    if (!now) throw new MailError('ACCOUNT_NOT_FOUND')
    if (tenant === now.tenant) return
    requireTenantSeat(connection, tenant)
    keepMaintenanceRequests(connection, { accountId })
    connection
      .prepare('UPDATE accounts SET tenant_id = ? WHERE id = ?')
      .run(tenant === now.of_domain ? null : tenant, accountId)
  }

  /**
   * @param {string} accountId
   * @param {string} address
   * @throws {MailError} ADDRESS_INVALID, ACCOUNT_EXISTS, ACCOUNT_NOT_FOUND
   */
  async addAlias(accountId, address) {
    const alias = parseAddress(address, { defaultDomain: this.defaultDomain })
    await this.connection.write(() => {
      this.#requireFree(alias.address)
      this.#folderOf(accountId)
      this.#insertAddress(accountId, alias.address)
    })
  }

  /**
   * @param {string} accountId
   * @param {string} address
   * @returns {Promise<boolean>} false where the account has no such alias; the primary address stays
   */
  async removeAlias(accountId, address) {
    const alias = parseAddress(address, { defaultDomain: this.defaultDomain })
    const { changes } = await this.connection.write(() =>
      this.connection
        .prepare(
          `DELETE FROM addresses WHERE address = $address AND account_id = $accountId
             AND address <> (SELECT address FROM accounts WHERE id = $accountId)`
        )
        .run({ accountId, address: alias.address })
    )
    return changes > 0
  }

  /**
   * @param {string} accountId
   * @returns {Promise<string[]>}
   */
  async listAliases(accountId) {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare(
          `SELECT n.address FROM addresses n JOIN accounts a ON a.id = n.account_id
           WHERE a.id = ? AND n.address <> a.address ORDER BY n.address`
        )
        .all(accountId)
    )
    return rows.map((row) => row.address)
  }

  /**
   * A new master key over an empty mailbox: the old keys are destroyed, the old folder is queued.
   *
   * @param {string} accountId
   * @param {import('./directory-port.js').NewMailbox} mailbox
   * @throws {MailError} ACCOUNT_NOT_FOUND; BUSY where the folder's files are to be removed, or the account has got other keys
   *   since: two mailboxes of one key epoch would be taken for each other
   */
  async replaceMailbox(accountId, { keys, folder, cipher }) {
    const { connection } = this
    const path = storedFolder(this.dataFolder, folder)
    await connection.erase(() => {
      queueRemoval(connection, this.#folderOf(accountId))
      requireKeyEpoch(connection, { accountId, keyEpoch: keys.keyEpoch - 1 })
      deleteKeyRows(connection, accountId)
      takeFolder(connection, path)
      // A restore that was to take the old mailbox's place goes with it.
      connection.prepare('DELETE FROM restores WHERE account_id = ?').run(accountId)
      forgetFindings(connection, accountId)
      connection
        .prepare(
          `UPDATE accounts SET folder = ?, cipher = ?, used_bytes = 0, used_messages = 0 WHERE id = ?`
        )
        .run(path, cipher, accountId)
      writeKeyRows(connection, accountId, keys)
    })
  }

  /**
   * @param {string} accountId
   * @returns {string} as stored
   */
  #folderOf(accountId) {
    const row = this.connection.prepare('SELECT folder FROM accounts WHERE id = ?').get(accountId)
    if (!row) throw new MailError('ACCOUNT_NOT_FOUND')
    return row.folder
  }

  /** @param {string} address - canonical */
  #requireFree(address) {
    if (this.#isTaken(address)) throw new MailError('ACCOUNT_EXISTS')
  }

  /**
   * @param {string} address - canonical
   * @returns {boolean}
   */
  #isTaken(address) {
    const row = this.connection.prepare('SELECT 1 FROM addresses WHERE address = ?').get(address)
    return row !== undefined
  }

  /**
   * @param {string} accountId
   * @param {string} address - canonical
   */
  #insertAddress(accountId, address) {
    this.connection
      .prepare('INSERT INTO addresses (address, account_id) VALUES (?, ?)')
      .run(address, accountId)
  }
}
