-- How many events of the audit log are whose: where there are too many, whoever has most loses the oldest of them, so that nobody
-- pushes out those of others. Deletions of accounts and backups are not counted, because they go by age alone.
CREATE TABLE audit_shares (
  tenant  TEXT PRIMARY KEY,                -- '': of the host
  events  INTEGER NOT NULL,
  gone_id INTEGER NOT NULL DEFAULT 0       -- of what was too much all is gone up to here: deletions that stay are not passed again
) STRICT, WITHOUT ROWID;

INSERT INTO audit_shares (tenant, events)
  SELECT coalesce(tenant_id, ''), count(*) FROM audit WHERE action NOT IN ('account-delete', 'backup') GROUP BY tenant_id;

-- Of the host's, those that strangers make by the thousand.
CREATE INDEX audit_of_strangers ON audit(id) WHERE tenant_id IS NULL AND action IN ('login-failed', 'login-throttled');
