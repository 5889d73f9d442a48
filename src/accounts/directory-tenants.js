/**
 * Tenants: whose domains and accounts are, and how much they may hold together. A domain that nobody has assigned has a
 * tenant of its own name; an account belongs to its domain's tenant unless it was given to another.
 */
import { setImmediate } from 'node:timers/promises'
import { MailError } from '../errors.js'
import { NO_SUMS, added, sumsByTenant } from './account-sums.js'
import { OF_TENANT } from './directory-lists.js'
import { keepMaintenanceRequests } from './directory-maintenance.js'

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').Tenant} Tenant
 */

/**
 * The id of the audit log's last event so far: events up to it that name a tenant which is made now belong to another one, which
 * had the name before. By ids, which are never given twice, and not by the clock.
 */
const LAST_EVENT = "coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'audit'), 0)"

/** The files of at most so many accounts are summed up in one turn, some 2 ms. */
const FILE_SLICE = 2000

/** A sum over a tenant's accounts is believed for so many ms. */
const ROOM_AGE_MS = 1000

const SELECT = 'SELECT id, label, created_at_ms, quota_bytes, max_accounts FROM tenants ORDER BY id'

/** One tenant, with the ids of its accounts. */
const SELECT_ONE = `SELECT t.id, t.label, t.created_at_ms, t.quota_bytes, t.max_accounts, s.*
  FROM tenants t CROSS JOIN (SELECT count(*) AS accounts, coalesce(sum(a.used_bytes), 0) AS used_bytes,
      coalesce(sum(a.used_messages), 0) AS used_messages, json_group_array(a.id) AS ids
    ${OF_TENANT}) s
  WHERE t.id = $tenant`

const FILE_SUMS = `SELECT coalesce(sum(m.file_bytes), 0) AS file_bytes, coalesce(sum(m.free_bytes), 0) AS free_bytes
  FROM json_each(?) j CROSS JOIN maintenance_accounts m ON m.account_id = j.value`

/** Number and bytes of a tenant's accounts. */
const SUMS = `SELECT count(*) AS accounts, coalesce(sum(used_bytes), 0) AS used_bytes ${OF_TENANT}`

/** @param {any} row */
const tenantFromRow = (row) => ({
  id: row.id,
  label: row.label,
  createdAtMs: row.created_at_ms,
  quotaBytes: row.quota_bytes,
  maxAccounts: row.max_accounts,
  accounts: row.accounts,
  usedBytes: row.used_bytes,
  usedMessages: row.used_messages,
  fileBytes: row.file_bytes,
  freeBytes: row.free_bytes,
  domains: /** @type {string[]} */ ([])
})

/**
 * Inside a transaction of the caller: a domain that is named for the first time gets its tenant.
 *
 * @param {DirectoryConnection} connection
 * @param {string} domain - canonical
 */
export function ensureDomain(connection, domain) {
  if (connection.prepare('SELECT 1 FROM domains WHERE name = ?').get(domain)) return
  const nowMs = connection.clock.nowMs()
  connection
    .prepare(
      `INSERT INTO tenants (id, created_at_ms, audit_after_id) VALUES (?, ?, ${LAST_EVENT}) ON CONFLICT DO NOTHING`
    )
    .run(domain, nowMs)
  connection
    .prepare('INSERT INTO domains (name, created_at_ms, tenant_id) VALUES (?, ?, ?)')
    .run(domain, nowMs, domain)
}

/**
 * Inside a transaction of the caller.
 *
 * @param {DirectoryConnection} connection
 * @param {string} tenantId - that is to get one more account
 * @throws {MailError} TENANT_NOT_FOUND, LIMIT
 */
export function requireTenantSeat(connection, tenantId) {
  const row = connection.prepare('SELECT max_accounts FROM tenants WHERE id = ?').get(tenantId)
  if (!row) throw new MailError('TENANT_NOT_FOUND')
  if (row.max_accounts === 0) return
  const { accounts } = connection.prepare(SUMS).get({ tenant: tenantId })
  if (accounts >= row.max_accounts)
    throw new MailError('LIMIT', { detail: 'accounts of the tenant' })
}

/** The tenant part of the directory. */
export class DirectoryTenants {
  /** @type {Map<string, { atMs: number, bytes: number | null }>} */
  #rooms = new Map()

  /** @param {DirectoryConnection} connection */
  constructor(connection) {
    this.connection = connection
  }

  /** @returns {Promise<Tenant[]>} by id; what their accounts hold is summed up while these may change */
  async listTenants() {
    const { connection } = this
    const sums = await sumsByTenant(connection)
    const { rows, domains } = await connection.read(() => ({
      rows: connection.prepare(SELECT).all(),
      domains: connection.prepare('SELECT name, tenant_id FROM domains ORDER BY name').all()
    }))
    const tenants = new Map(
      rows.map((row) => [row.id, tenantFromRow({ ...row, ...(sums.get(row.id) ?? NO_SUMS) })])
    )
    for (const { name, tenant_id: tenantId } of domains) tenants.get(tenantId)?.domains.push(name)
    return [...tenants.values()]
  }

  /** @returns {ReturnType<import('./directory-port.js').DirectoryPort['totals']>} of the whole host */
  async totals() {
    const { connection } = this
    const sums = [...(await sumsByTenant(connection)).values()].reduce(added, NO_SUMS)
    const { tenants } = await connection.read(() =>
      connection.prepare('SELECT count(*) AS tenants FROM tenants').get()
    )
    return {
      accounts: sums.accounts,
      tenants,
      usedBytes: sums.used_bytes,
      usedMessages: sums.used_messages,
      fileBytes: sums.file_bytes,
      freeBytes: sums.free_bytes
    }
  }

  /**
   * @param {string} id
   * @returns {Promise<Tenant | null>}
   */
  async findTenant(id) {
    const { connection } = this
    const { row, domains } = await connection.read(() => ({
      row: connection.prepare(SELECT_ONE).get({ tenant: id }),
      domains: connection
        .prepare('SELECT name FROM domains WHERE tenant_id = ? ORDER BY name')
        .all(id)
    }))
    if (!row) return null
    const ids = JSON.parse(row.ids)
    const files = { file_bytes: 0, free_bytes: 0 }
    for (let from = 0; from < ids.length; from += FILE_SLICE) {
      if (from > 0) await setImmediate()
      const slice = JSON.stringify(ids.slice(from, from + FILE_SLICE))
      const sums = await connection.read(() => connection.prepare(FILE_SUMS).get(slice))
      files.file_bytes += sums.file_bytes
      files.free_bytes += sums.free_bytes
    }
    return { ...tenantFromRow({ ...row, ...files }), domains: domains.map(({ name }) => name) }
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>}
   */
  async hasTenant(id) {
    const row = await this.connection.read(() =>
      this.connection.prepare('SELECT 1 FROM tenants WHERE id = ?').get(id)
    )
    return row !== undefined
  }

  /**
   * @param {{ id: string, label: string, quotaBytes: number, maxAccounts: number }} tenant
   * @throws {MailError} TENANT_EXISTS
   */
  async createTenant({ id, label, quotaBytes, maxAccounts }) {
    const { connection } = this
    const { changes } = await connection.write(() =>
      connection
        .prepare(
          `INSERT INTO tenants (id, label, created_at_ms, quota_bytes, max_accounts, audit_after_id)
           VALUES (?, ?, ?, ?, ?, ${LAST_EVENT}) ON CONFLICT DO NOTHING`
        )
        .run(id, label, connection.clock.nowMs(), quotaBytes, maxAccounts)
    )
    if (changes === 0) throw new MailError('TENANT_EXISTS')
  }

  /**
   * @param {string} id
   * @param {{ label?: string, quotaBytes?: number, maxAccounts?: number }} change
   * @throws {MailError} TENANT_NOT_FOUND
   */
  async updateTenant(id, { label, quotaBytes, maxAccounts }) {
    const { changes } = await this.connection.write(() =>
      this.connection
        .prepare(
          `UPDATE tenants SET label = coalesce($label, label), quota_bytes = coalesce($quotaBytes, quota_bytes),
             max_accounts = coalesce($maxAccounts, max_accounts) WHERE id = $id`
        )
        .run({
          id,
          label: label ?? null,
          quotaBytes: quotaBytes ?? null,
          maxAccounts: maxAccounts ?? null
        })
    )
    if (changes === 0) throw new MailError('TENANT_NOT_FOUND')
    this.#rooms.delete(id)
  }

  /**
   * @param {string} id - its tokens go with it
   * @throws {MailError} TENANT_NOT_FOUND; TENANT_IN_USE while it has a domain or an account
   */
  async deleteTenant(id) {
    const { connection } = this
    await connection.write(() => {
      const isUsed = connection
        .prepare(
          `SELECT EXISTS (SELECT 1 FROM domains WHERE tenant_id = $id)
             OR EXISTS (SELECT 1 FROM accounts WHERE tenant_id = $id) AS is_used`
        )
        .get({ id })
      if (isUsed.is_used === 1) throw new MailError('TENANT_IN_USE')
      const { changes } = connection.prepare('DELETE FROM tenants WHERE id = ?').run(id)
      if (changes === 0) throw new MailError('TENANT_NOT_FOUND')
    })
  }

  /**
   * Gives a domain to a tenant, with those accounts in it that were not given to another tenant by themselves. The tenant of
   * the domain's own name goes when nothing is left in it.
   *
   * @param {string} domain - canonical; added if the directory does not have it
   * @param {string} tenantId
   * @throws {MailError} TENANT_NOT_FOUND; LIMIT where the tenant would have more accounts than it may
   */
  async assignDomain(domain, tenantId) {
    const { connection } = this
    await connection.write(() => {
      const tenant = connection
        .prepare('SELECT max_accounts FROM tenants WHERE id = ?')
        .get(tenantId)
      if (!tenant) throw new MailError('TENANT_NOT_FOUND')
      const accounts = () => connection.prepare(SUMS).get({ tenant: tenantId }).accounts
      const before = accounts()
      ensureDomain(connection, domain)
      keepMaintenanceRequests(connection, { domain })
      connection.prepare('UPDATE domains SET tenant_id = ? WHERE name = ?').run(tenantId, domain)
      const now = accounts()
      if (tenant.max_accounts > 0 && now > before && now > tenant.max_accounts)
        throw new MailError('LIMIT', { detail: 'accounts of the tenant' })
      connection
        .prepare(
          `DELETE FROM tenants WHERE id = $domain AND label = '' AND quota_bytes = 0 AND max_accounts = 0
             AND NOT EXISTS (SELECT 1 FROM domains WHERE tenant_id = $domain)
             AND NOT EXISTS (SELECT 1 FROM accounts WHERE tenant_id = $domain)
             AND NOT EXISTS (SELECT 1 FROM api_tokens WHERE tenant_id = $domain)`
        )
        .run({ domain })
    })
    this.#rooms.clear()
  }

  /**
   * @param {string} domain - canonical
   * @returns {Promise<string | null>} its tenant; null for a domain that the directory does not have yet
   */
  async findTenantOfDomain(domain) {
    const row = await this.connection.read(() =>
      this.connection.prepare('SELECT tenant_id FROM domains WHERE name = ?').get(domain)
    )
    return row?.tenant_id ?? null
  }

  /**
   * @param {string} id
   * @returns {Promise<number | null>} bytes that its accounts may still grow by, as of a second ago at most; null: no limit
   */
  async tenantRoom(id) {
    const { connection } = this
    const nowMs = connection.clock.nowMs()
    const known = this.#rooms.get(id)
    if (known && Math.abs(nowMs - known.atMs) < ROOM_AGE_MS) return known.bytes
    const bytes = await connection.read(() => {
      const tenant = connection.prepare('SELECT quota_bytes FROM tenants WHERE id = ?').get(id)
      if (!tenant || tenant.quota_bytes === 0) return null
      const { used_bytes: used } = connection.prepare(SUMS).get({ tenant: id })
      return Math.max(0, tenant.quota_bytes - used)
    })
    this.#rooms.set(id, { atMs: nowMs, bytes })
    return bytes
  }
}
