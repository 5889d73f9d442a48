/**
 * The records of maintenance: when each job last ran on each mailbox and with what result, so that operators see it
 * without any key.
 */
import { OF_TENANT } from './directory-lists.js'
import { runFromRow } from './directory-rows.js'

/**
 * @typedef {import('./directory-connection.js').DirectoryConnection} DirectoryConnection
 * @typedef {import('./directory-port.js').MaintenanceEntry} MaintenanceEntry
 * @typedef {import('./directory-port.js').MaintenanceState} MaintenanceState
 * @typedef {import('./directory-port.js').MaintenanceSummary} MaintenanceSummary
 * @typedef {import('./directory-port.js').MaintenanceFailure} MaintenanceFailure
 */

/**
 * When maintenance was last asked for, of this account, of its tenant or of all, since it was last done; NULL: not. `a` and `d` are
 * account and domain, `m` the account's row of maintenance_accounts, if there is one.
 */
const REQUESTED = `nullif(max(coalesce(m.requested_at_ms, -1), coalesce(
    (SELECT max(r.requested_at_ms) FROM maintenance_requests r
     WHERE coalesce(r.tenant_id, '') IN ('', coalesce(a.tenant_id, d.tenant_id))
       AND r.requested_at_ms >= a.created_at_ms AND r.requested_at_ms > coalesce(m.answered_at_ms, -1)), -1)), -1)`
const ACCOUNTS = `accounts a CROSS JOIN domains d ON d.id = a.domain_id
  LEFT JOIN maintenance_accounts m ON m.account_id = a.id`

/** Runs are kept for so many ms, 90 days. */
const RUN_RETENTION_MS = 90 * 24 * 3_600_000

/** @param {any} row - of maintenance_jobs */
const stateFromRow = (row) => ({
  doneAtMs: row.done_at_ms,
  failures: row.failures,
  failedCode: row.failed_code,
  nextTryAtMs: row.next_try_at_ms
})

/**
 * Inside a transaction of the caller. Nothing is written where the account has gone meanwhile.
 *
 * @param {DirectoryConnection} connection
 * @param {MaintenanceEntry} entry
 */
export function writeMaintenanceEntry(connection, entry) {
  const { accountId } = entry
  if (!connection.prepare('SELECT 1 FROM accounts WHERE id = ?').get(accountId)) return
  if ('space' in entry) {
    connection
      .prepare(
        `INSERT INTO maintenance_accounts (account_id, file_bytes, free_bytes, measured_at_ms) VALUES (?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET file_bytes = excluded.file_bytes, free_bytes = excluded.free_bytes,
           measured_at_ms = excluded.measured_at_ms`
      )
      .run(accountId, entry.space.fileBytes, entry.space.freeBytes, entry.atMs)
    return
  }
  if ('isAnew' in entry) {
    forgetFindings(connection, accountId)
    return
  }
  const { job, state, run } = entry
  connection
    .prepare(
      `INSERT OR REPLACE INTO maintenance_jobs (account_id, job, done_at_ms, failures, failed_code, next_try_at_ms)
       VALUES (?, ?, ?, ?, ?, ?)`
    )
    .run(accountId, job, state.doneAtMs, state.failures, state.failedCode, state.nextTryAtMs)
  if (run === null) return
  connection
    .prepare(
      `INSERT INTO maintenance_runs (at_ms, account_id, job, why, result, note, before, after, took_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`
    )
    .run(
      run.atMs,
      accountId,
      job,
      run.why,
      run.result,
      run.note,
      JSON.stringify(run.before),
      JSON.stringify(run.after),
      Math.round(run.tookMs)
    )
}

/**
 * Inside a transaction of the caller: findings about a mailbox, its damage too, say nothing of the one that takes its place.
 *
 * @param {DirectoryConnection} connection
 * @param {string} accountId
 */
export function forgetFindings(connection, accountId) {
  connection.prepare('DELETE FROM maintenance_jobs WHERE account_id = ?').run(accountId)
  connection
    .prepare(
      `UPDATE maintenance_accounts SET file_bytes = NULL, free_bytes = NULL, measured_at_ms = NULL
       WHERE account_id = ?`
    )
    .run(accountId)
}

/**
 * Inside a transaction of the caller, before accounts go to another tenant: maintenance that was asked for of all accounts of their
 * present tenant, and is still to come, is asked for of each account that goes.
 *
 * @param {DirectoryConnection} connection
 * @param {{ domain: string } | { accountId: string }} moved - all accounts in the domain but those that have a tenant of their
 *   own; or one
 */
export function keepMaintenanceRequests(connection, moved) {
  const which = 'domain' in moved ? 'd.name = $domain AND a.tenant_id IS NULL' : 'a.id = $accountId'
  connection
    .prepare(
      `INSERT INTO maintenance_accounts (account_id, requested_at_ms)
       SELECT a.id, r.requested_at_ms FROM ${ACCOUNTS}
         JOIN maintenance_requests r ON coalesce(r.tenant_id, '') = coalesce(a.tenant_id, d.tenant_id)
       WHERE ${which} AND r.requested_at_ms >= a.created_at_ms AND r.requested_at_ms > coalesce(m.answered_at_ms, -1)
       ON CONFLICT DO UPDATE SET requested_at_ms = max(coalesce(requested_at_ms, -1), excluded.requested_at_ms)`
    )
    .run(moved)
}

/**
 * Inside a transaction of the caller.
 *
 * @param {DirectoryConnection} connection
 * @param {number} limit - runs
 * @returns {boolean} whether there may be more that are too old
 */
export function pruneMaintenanceRuns(connection, limit) {
  const beforeMs = connection.clock.nowMs() - RUN_RETENTION_MS
  const { changes } = connection
    .prepare(
      'DELETE FROM maintenance_runs WHERE id IN (SELECT id FROM maintenance_runs WHERE at_ms < ? LIMIT ?)'
    )
    .run(beforeMs, limit)
  return changes === limit
}

/** The maintenance part of the directory. */
export class DirectoryMaintenance {
  /** @param {DirectoryConnection} connection */
  constructor(connection) {
    this.connection = connection
  }

  /**
   * @param {string} accountId
   * @returns {Promise<{ requestedAtMs: number | null, jobs: Map<string, MaintenanceState> }>}
   */
  async findMaintenance(accountId) {
    const { connection } = this
    const { requests, rows } = await connection.read(() => ({
      requests: connection
        .prepare(`SELECT ${REQUESTED} AS requested_at_ms FROM ${ACCOUNTS} WHERE a.id = ?`)
        .get(accountId),
      rows: connection.prepare('SELECT * FROM maintenance_jobs WHERE account_id = ?').all(accountId)
    }))
    return {
      requestedAtMs: requests?.requested_at_ms ?? null,
      jobs: new Map(rows.map((row) => [row.job, stateFromRow(row)]))
    }
  }

  /**
   * @param {string[]} accountIds
   * @returns {Promise<Map<string, number>>} when maintenance was asked for, by account id; only accounts of which it was
   */
  async listMaintenanceRequests(accountIds) {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare(
          `SELECT id, requested_at_ms FROM (SELECT a.id, ${REQUESTED} AS requested_at_ms
             FROM json_each(?) j CROSS JOIN ${ACCOUNTS} WHERE a.id = j.value)
           WHERE requested_at_ms IS NOT NULL`
        )
        .all(JSON.stringify(accountIds))
    )
    return new Map(rows.map((row) => [row.id, row.requested_at_ms]))
  }

  /**
   * @param {string | null} accountId - null: every account
   * @param {{ tenant?: string }} [filter] - every account of this tenant
   * @returns {Promise<number>} how many accounts it is asked for
   */
  async requestMaintenance(accountId, { tenant } = {}) {
    const { connection } = this
    const nowMs = connection.clock.nowMs()
    if (accountId === null)
      return await connection.write(() => {
        const accounts = tenant === undefined ? 'FROM accounts a' : OF_TENANT
        // Later than any request before, so that no account takes this one for one that is done; and not before any account was
        // made, as far as the clock was ahead then.
        connection
          .prepare(
            `INSERT INTO maintenance_requests (tenant_id, requested_at_ms)
             SELECT $tenant, max($nowMs, coalesce((SELECT max(requested_at_ms) + 1 FROM maintenance_requests), 0),
               coalesce((SELECT max(a.created_at_ms) ${accounts}), 0))
             WHERE $tenant IS NULL OR EXISTS (SELECT 1 FROM tenants WHERE id = $tenant)
             ON CONFLICT (coalesce(tenant_id, '')) DO UPDATE SET requested_at_ms = excluded.requested_at_ms`
          )
          .run({ tenant: tenant ?? null, nowMs })
        return connection.prepare(`SELECT count(*) AS n ${accounts}`).get({ tenant }).n
      })
    const { changes } = await connection.write(() =>
      connection
        .prepare(
          `INSERT INTO maintenance_accounts (account_id, requested_at_ms) SELECT id, $nowMs FROM accounts WHERE id = $accountId
           ON CONFLICT DO UPDATE SET requested_at_ms = excluded.requested_at_ms`
        )
        .run({ accountId, nowMs })
    )
    return changes
  }

  /**
   * @param {string} accountId
   * @param {number} requestedAtMs - a later request stays
   */
  async finishMaintenanceRequest(accountId, requestedAtMs) {
    await this.connection.write(() =>
      this.connection
        .prepare(
          `INSERT INTO maintenance_accounts (account_id, answered_at_ms)
           SELECT id, (SELECT max(requested_at_ms) FROM maintenance_requests WHERE requested_at_ms <= $requestedAtMs)
           FROM accounts WHERE id = $accountId
           ON CONFLICT DO UPDATE SET
             requested_at_ms = iif(requested_at_ms <= $requestedAtMs, NULL, requested_at_ms),
             answered_at_ms = coalesce(max(excluded.answered_at_ms, answered_at_ms), excluded.answered_at_ms, answered_at_ms)`
        )
        .run({ accountId, requestedAtMs })
    )
  }

  /**
   * @param {{ accountId?: string }} [filter]
   * @returns {Promise<MaintenanceSummary[]>} by address
   */
  async listMaintenance({ accountId } = {}) {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare(
          `SELECT a.id, a.address, m.file_bytes, m.free_bytes, m.measured_at_ms, ${REQUESTED} AS requested_at_ms,
             (SELECT nullif(max(done_at_ms), 0) FROM maintenance_jobs j WHERE j.account_id = a.id) AS done_at_ms,
             (SELECT count(*) FROM maintenance_jobs j WHERE j.account_id = a.id AND j.failures > 0) AS failing
           FROM ${ACCOUNTS} WHERE $accountId IS NULL OR a.id = $accountId ORDER BY a.address`
        )
        .all({ accountId: accountId ?? null })
    )
    return rows.map((row) => ({
      accountId: row.id,
      address: row.address,
      fileBytes: row.file_bytes,
      freeBytes: row.free_bytes,
      measuredAtMs: row.measured_at_ms,
      requestedAtMs: row.requested_at_ms,
      doneAtMs: row.done_at_ms,
      failingJobs: row.failing
    }))
  }

  /**
   * @param {{ accountId?: string, limit?: number }} [filter]
   * @returns {Promise<import('./directory-port.js').MaintenanceRun[]>} newest first
   */
  async listMaintenanceRuns({ accountId, limit = 100 } = {}) {
    const rows = await this.connection.read(() =>
      this.connection
        .prepare(
          `SELECT * FROM maintenance_runs WHERE $accountId IS NULL OR account_id = $accountId
           ORDER BY id DESC LIMIT $limit`
        )
        .all({ accountId: accountId ?? null, limit })
    )
    return rows.map(runFromRow)
  }

  /**
   * @param {number} [limit]
   * @returns {Promise<{ failing: MaintenanceFailure[], failingTotal: number }>} jobs that failed last time, those that
   *   have failed for longest first
   */
  async listMaintenanceFailures(limit = 100) {
    const { connection } = this
    const { rows, total } = await connection.read(() => ({
      rows: connection
        .prepare(
          `SELECT account_id, job, failures, failed_code, next_try_at_ms FROM maintenance_jobs
           WHERE failures > 0 ORDER BY failures DESC, account_id, job LIMIT ?`
        )
        .all(limit),
      total: connection
        .prepare('SELECT count(*) AS failing FROM maintenance_jobs WHERE failures > 0')
        .get()
    }))
    const failing = rows.map((row) => ({
      accountId: row.account_id,
      job: row.job,
      failures: row.failures,
      code: row.failed_code,
      nextTryAtMs: row.next_try_at_ms
    }))
    return { failing, failingTotal: total.failing }
  }

  /**
   * @param {number} limit
   * @returns {Promise<{ damaged: number, damagedIds: string[] }>} accounts of which a job has met damage, and nothing has cleared
   *   that since; `limit` of them are named
   */
  async listDamaged(limit) {
    const { connection } = this
    const ids = await connection.read(() =>
      connection
        .prepare(
          `SELECT DISTINCT account_id FROM maintenance_jobs INDEXED BY maintenance_failing
           WHERE failures > 0 AND failed_code = 'ACCOUNT_DAMAGED' ORDER BY account_id`
        )
        .all()
        .map((row) => row.account_id)
    )
    return { damaged: ids.length, damagedIds: ids.slice(0, limit) }
  }
}
