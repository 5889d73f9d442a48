/**
 * One row of the audit log.
 */

/**
 * Part of the caller's transaction.
 *
 * @param {import('./directory-connection.js').DirectoryConnection} connection
 * @param {import('./directory-port.js').AuditEvent & { atMs: number }} event - without a tenant it is of its account's, while
 *   that is there
 */
export function writeAuditEvent(
  connection,
  { atMs, accountId, action, remoteAddress, detail, tenant }
) {
  connection
    .prepare(
      `INSERT INTO audit (at_ms, account_id, action, remote_address, detail, tenant_id)
       VALUES ($atMs, $accountId, $action, $remoteAddress, $detail, coalesce($tenant,
         (SELECT coalesce(a.tenant_id, d.tenant_id) FROM accounts a JOIN domains d ON d.id = a.domain_id
          WHERE a.id = $accountId)))`
    )
    .run({
      atMs,
      accountId: accountId ?? null,
      action,
      remoteAddress: remoteAddress ?? null,
      detail: detail ? JSON.stringify(detail) : null,
      tenant: tenant ?? null
    })
}
