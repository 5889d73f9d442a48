/**
 * One row of the audit log.
 */

/**
 * Events that other parts rely on, and that no stranger can cause: they go by age alone. Deletions tell the backups whose keys are
 * to go, and the rows of backups tell operators how these went.
 */
export const KEPT_ACTIONS = "('account-delete', 'backup')"

/**
 * Part of the caller's transaction.
 *
 * @param {import('./directory-connection.js').DirectoryConnection} connection
 * @param {import('./directory-port.js').AuditEvent & { atMs: number }} event - without a tenant it belongs to its account's, while
 *   that account exists
 */
export function writeAuditEvent(
  connection,
  { atMs, accountId, action, remoteAddress, detail, tenant }
) {
  const { share } = connection
    .prepare(
      `INSERT INTO audit (at_ms, account_id, action, remote_address, detail, tenant_id)
       VALUES ($atMs, $accountId, $action, $remoteAddress, $detail, coalesce($tenant,
         (SELECT coalesce(a.tenant_id, d.tenant_id) FROM accounts a JOIN domains d ON d.id = a.domain_id
          WHERE a.id = $accountId)))
       RETURNING iif(action IN ${KEPT_ACTIONS}, NULL, coalesce(tenant_id, '')) AS share`
    )
    .get({
      atMs,
      accountId: accountId ?? null,
      action,
      remoteAddress: remoteAddress ?? null,
      detail: detail ? JSON.stringify(detail) : null,
      tenant: tenant ?? null
    })
  if (share === null) return
  connection
    .prepare(
      'INSERT INTO audit_shares (tenant, events) VALUES (?, 1) ON CONFLICT DO UPDATE SET events = events + 1'
    )
    .run(share)
}
