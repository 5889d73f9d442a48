/**
 * Long lists of the directory in pages, for people who look at thousands of accounts: searched, sorted and cut by
 * SQLite, so that a page costs the same wherever it lies.
 */
import { setImmediate } from 'node:timers/promises'
import { searchForms } from './address.js'
import { accountStateFromRow, credentialStateFromRow, runFromRow } from './directory-rows.js'

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').AccountState} AccountState
 * @typedef {import('./directory-port.js').AccountSummary} AccountSummary
 * @typedef {import('./directory-port.js').AccountPageQuery} AccountPageQuery
 * @typedef {import('./directory-port.js').AuditQuery} AuditQuery
 * @typedef {import('./directory-port.js').AuditRow} AuditRow
 * @typedef {import('./directory-port.js').CredentialState} CredentialState
 * @typedef {import('./directory-port.js').MaintenanceRun} MaintenanceRun
 */

/** What each order sorts by; nothing else of a request becomes SQL text. */
const ORDERS = Object.freeze({
  address: 'a.address',
  tenant: 'tenant',
  createdAtMs: 'a.created_at_ms',
  usedBytes: 'a.used_bytes',
  usedMessages: 'a.used_messages',
  fileBytes: 'coalesce(m.file_bytes, 0)',
  fragmentation: 'coalesce(m.free_bytes * 1.0 / nullif(m.file_bytes, 0), 0)'
})

/** Orders that need figures of maintenance. */
const FILE_ORDERS = Object.freeze({ fileBytes: true, fragmentation: true })
const FILE_FIGURES = 'LEFT JOIN maintenance_accounts m ON m.account_id = a.id'

/**
 * Accounts with their domains, read from one narrow index in its order: the planner would go by domain and then search each
 * row. (CROSS JOIN keeps SQLite to the order as written.)
 */
export const LISTED =
  'FROM accounts a INDEXED BY accounts_listed CROSS JOIN domains d ON d.id = a.domain_id'

/**
 * All accounts of one tenant: those in its domains that have no tenant of their own, and those that were given to it. Both parts
 * are read from narrow indexes alone.
 */
export const OF_TENANT = `FROM (
    SELECT a.id, a.address, a.created_at_ms, a.used_bytes, a.used_messages
    FROM domains d CROSS JOIN accounts a INDEXED BY accounts_by_domain
    WHERE d.tenant_id = $tenant AND a.domain_id = d.id AND a.tenant_id IS NULL
    UNION ALL
    SELECT id, address, created_at_ms, used_bytes, used_messages
    FROM accounts INDEXED BY accounts_by_tenant WHERE tenant_id = $tenant) a`

/** One account, by its id. */
const SINGLE = 'FROM accounts a JOIN domains d ON d.id = a.domain_id'
const ITS_TENANT = 'coalesce(a.tenant_id, d.tenant_id)'

/**
 * At most so many events of the audit log are looked at in one turn, some 2 ms: a million of them may lie between two that a
 * filter lets through.
 */
const AUDIT_SLICE = 10_000
/** At most so many runs of maintenance are looked at in one turn, some 2 ms, for the same reason. */
const RUN_SLICE = 2_000

/** @param {any} row */
const summaryFromRow = (row) => ({
  id: row.id,
  address: row.address,
  domain: row.domain,
  tenant: row.tenant,
  createdAtMs: row.created_at_ms,
  isEnabled: row.is_enabled === 1,
  quotaBytes: row.quota_bytes,
  quotaMessages: row.quota_messages,
  usedBytes: row.used_bytes,
  usedMessages: row.used_messages,
  fileBytes: row.file_bytes,
  freeBytes: row.free_bytes,
  failingJobs: row.failing_jobs
})

/** @param {any} row */
export const auditFromRow = (row) => ({
  id: row.id,
  atMs: row.at_ms,
  accountId: row.account_id,
  tenant: row.tenant_id,
  action: row.action,
  remoteAddress: row.remote_address,
  ...(row.detail !== null && { detail: JSON.parse(row.detail) })
})

/** The pages of the directory. */
export class DirectoryLists {
  /** @param {DirectoryConnection} connection */
  constructor(connection) {
    this.connection = connection
  }

  /**
   * @param {AccountPageQuery} query
   * @returns {Promise<{ total: number, accounts: AccountSummary[] }>}
   */
  async pageAccounts({
    tenant,
    accountId,
    search,
    afterAddress,
    sort,
    isDescending,
    limit,
    offset
  }) {
    const { connection } = this
    const isOfTenant = tenant != null && accountId === undefined
    const from = isOfTenant ? OF_TENANT : accountId === undefined ? LISTED : SINGLE
    const forms = search ? searchForms(search) : []
    // Filters that are not set are not in the statement, so that SQLite can go by its indexes.
    const where = [
      tenant != null && !isOfTenant && `${ITS_TENANT} = $tenant`,
      accountId !== undefined && 'a.id = $id',
      search &&
        // instr(): LIKE would take a NUL for the end of the search text.
        `(${forms.map((_, index) => `instr(a.address, $search${index}) > 0`).join(' OR ')})`
    ].filter(Boolean)
    const filterOf = (/** @type {(string | false | undefined | '')[]} */ conditions) =>
      conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
    const behind = afterAddress === undefined ? [] : ['a.address > $afterAddress']
    const values = {
      ...(tenant != null && { tenant }),
      ...(accountId !== undefined && { id: accountId }),
      ...Object.fromEntries(forms.map((form, index) => [`search${index}`, form]))
    }
    const direction = isDescending ? 'DESC' : 'ASC'
    const joined = sort in FILE_ORDERS ? FILE_FIGURES : ''
    const order = `ORDER BY ${ORDERS[sort]} ${direction}, a.address LIMIT $limit OFFSET $offset`
    const { rows, total } = await connection.read(() => {
      // First the ids, from the index alone; then the summaries of this page.
      const ids = connection
        .prepare(
          `SELECT a.id, ${isOfTenant ? '$tenant' : ITS_TENANT} AS tenant ${from} ${joined} ${filterOf([...where, ...behind])} ${order}`
        )
        .all({ ...values, ...(afterAddress !== undefined && { afterAddress }), limit, offset })
        .map((row) => row.id)
      const found = connection
        .prepare(
          `SELECT a.id, a.address, d.name AS domain, coalesce(a.tenant_id, d.tenant_id) AS tenant, a.created_at_ms,
             a.is_enabled, a.quota_bytes, a.quota_messages, a.used_bytes, a.used_messages, m.file_bytes, m.free_bytes,
             (SELECT count(*) FROM maintenance_jobs j WHERE j.account_id = a.id AND j.failures > 0) AS failing_jobs
           FROM json_each(?) page JOIN accounts a ON a.id = page.value JOIN domains d ON d.id = a.domain_id
             LEFT JOIN maintenance_accounts m ON m.account_id = a.id ORDER BY page.key`
        )
        .all(JSON.stringify(ids))
      return {
        rows: found,
        total: connection.prepare(`SELECT count(*) AS n ${from} ${filterOf(where)}`).get(values)
      }
    })
    return { total: total.n, accounts: rows.map(summaryFromRow) }
  }

  /**
   * @param {string[]} accountIds
   * @returns {Promise<Map<string, AccountState>>} by account id
   */
  async accountStates(accountIds) {
    const { connection } = this
    const rows = await connection.read(() =>
      connection
        .prepare(
          `SELECT a.id, a.is_enabled, a.key_epoch, a.quota_bytes, a.quota_messages, a.used_bytes,
             coalesce(a.tenant_id, d.tenant_id) AS tenant
           FROM json_each(?) j CROSS JOIN accounts a ON a.id = j.value
           CROSS JOIN domains d ON d.id = a.domain_id`
        )
        .all(JSON.stringify(accountIds))
    )
    return new Map(rows.map((row) => [row.id, accountStateFromRow(row)]))
  }

  /**
   * @param {string[]} credentialIds
   * @returns {Promise<Map<string, CredentialState>>} by credential id
   */
  async credentialStates(credentialIds) {
    const { connection } = this
    const rows = await connection.read(() =>
      connection
        .prepare(
          `SELECT c.id, c.version, c.expires_at_ms FROM json_each(?) j
           JOIN credentials c ON c.id = j.value`
        )
        .all(JSON.stringify(credentialIds))
    )
    return new Map(rows.map((row) => [row.id, credentialStateFromRow(row)]))
  }

  /**
   * @param {{ afterId: string, limit: number }} page
   * @returns {Promise<{ id: string, folder: string }[]>} by id; folders as stored, relative to the data folder
   */
  async pageFolders({ afterId, limit }) {
    return await this.connection.read(() =>
      this.connection
        .prepare('SELECT id, folder FROM accounts WHERE id > ? ORDER BY id LIMIT ?')
        .all(afterId, limit)
    )
  }

  /**
   * @param {AuditQuery} query
   * @returns {Promise<AuditRow[]>} newest first; with `isOldestFirst`, the other way round
   */
  async pageAudit({
    tenant,
    isPresentTenant = false,
    accountId,
    action,
    beforeId,
    afterId,
    sinceMs,
    untilMs,
    limit,
    isOldestFirst = false
  }) {
    const { connection } = this
    // Only id, or tenant and id, may choose the index, so that a slice costs as many rows as it looks at: hence the plus before
    // all other columns.
    const where = [
      'id BETWEEN $from AND $to',
      tenant != null && 'tenant_id = $tenant',
      accountId !== undefined && '+account_id = $accountId',
      action !== undefined && 'action = $action',
      sinceMs !== undefined && '+at_ms >= $sinceMs',
      untilMs !== undefined && '+at_ms < $untilMs'
    ].filter(Boolean)
    const values = {
      ...(tenant != null && { tenant }),
      ...(accountId !== undefined && { accountId }),
      ...(action !== undefined && { action }),
      ...(sinceMs !== undefined && { sinceMs }),
      ...(untilMs !== undefined && { untilMs })
    }
    const order = isOldestFirst ? 'ASC' : 'DESC'
    const text = `SELECT * FROM audit WHERE ${where.join(' AND ')} ORDER BY id ${order} LIMIT $limit`
    const ends = await connection.read(() =>
      connection
        .prepare(
          `SELECT (SELECT min(id) FROM audit) AS first, (SELECT max(id) FROM audit) AS last,
             (SELECT audit_after_id FROM tenants WHERE id = ?) AS former`
        )
        .get(tenant ?? null)
    )
    const formerId = isPresentTenant ? (ends.former ?? Infinity) : 0
    const range = {
      first: Math.max(ends.first ?? 1, (afterId ?? 0) + 1, formerId + 1),
      last: Math.min(ends.last ?? 0, (beforeId ?? Infinity) - 1)
    }
    const rows = await this.#inSlices(
      { ...range, size: AUDIT_SLICE, limit, isOldestFirst },
      (slice) => connection.prepare(text).all({ ...values, ...slice })
    )
    return rows.map(auditFromRow)
  }

  /**
   * @param {{ tenant?: string | null, accountId?: string, beforeId?: number, limit: number }} query
   * @returns {Promise<(MaintenanceRun & { id: number, address: string })[]>} newest first
   */
  async pageMaintenanceRuns({ tenant, accountId, beforeId, limit }) {
    const { connection } = this
    // Filters that are not set are not in the statement, so that the runs of one account are found by their index.
    const where = [
      'r.id BETWEEN $from AND $to',
      tenant != null && 'coalesce(a.tenant_id, d.tenant_id) = $tenant',
      accountId !== undefined && 'r.account_id = $accountId'
    ].filter(Boolean)
    const values = {
      ...(tenant != null && { tenant }),
      ...(accountId !== undefined && { accountId })
    }
    const text = `SELECT r.*, a.address FROM maintenance_runs r CROSS JOIN accounts a ON a.id = r.account_id
        CROSS JOIN domains d ON d.id = a.domain_id
      WHERE ${where.join(' AND ')} ORDER BY r.id DESC LIMIT $limit`
    const ends = await connection.read(() =>
      connection
        .prepare(
          'SELECT (SELECT min(id) FROM maintenance_runs) AS first, (SELECT max(id) FROM maintenance_runs) AS last'
        )
        .get()
    )
    const range = {
      first: ends.first ?? 1,
      last: Math.min(ends.last ?? 0, (beforeId ?? Infinity) - 1),
      size: accountId === undefined ? RUN_SLICE : Infinity
    }
    const rows = await this.#inSlices({ ...range, limit }, (slice) =>
      connection.prepare(text).all({ ...values, ...slice })
    )
    return rows.map((row) => ({ id: row.id, address: row.address, ...runFromRow(row) }))
  }

  /**
   * Reads rows by id, a slice in each turn: a filter may let through few of many.
   *
   * @param {{ first: number, last: number, size: number, limit: number, isOldestFirst?: boolean }} range - `size`: of a slice
   * @param {(slice: { from: number, to: number, limit: number }) => any[]} read
   * @returns {Promise<any[]>} the last ones first, unless `isOldestFirst`; at most `limit`
   */
  async #inSlices({ first, last, size, limit, isOldestFirst = false }, read) {
    /** @type {any[]} */
    const rows = []
    while (first <= last) {
      const from = isOldestFirst ? first : Math.max(first, last - size + 1)
      const to = isOldestFirst ? Math.min(last, first + size - 1) : last
      const slice = { from, to, limit: limit - rows.length }
      rows.push(...(await this.connection.read(() => read(slice))))
      if (rows.length >= limit) break
      if (isOldestFirst) first = to + 1
      else last = from - 1
      await setImmediate()
    }
    return rows
  }
}
