-- Tenants of their own, above domains; tokens of the admin interface; the tenant in the audit log.
-- Times are milliseconds since 1970-01-01T00:00:00Z.

CREATE TABLE tenants (
  id            TEXT PRIMARY KEY,          -- lower case; a domain that was never assigned has a tenant of its own name
  label         TEXT NOT NULL DEFAULT '',  -- what operators call it
  created_at_ms INTEGER NOT NULL,
  quota_bytes   INTEGER NOT NULL DEFAULT 0 CHECK (quota_bytes >= 0),  -- of all its accounts together; 0: no limit
  max_accounts  INTEGER NOT NULL DEFAULT 0 CHECK (max_accounts >= 0)  -- 0: no limit
) STRICT, WITHOUT ROWID;

INSERT INTO tenants (id, created_at_ms) SELECT name, created_at_ms FROM domains;

ALTER TABLE domains ADD COLUMN tenant_id TEXT REFERENCES tenants(id); -- whose it is; always filled
UPDATE domains SET tenant_id = name;
CREATE INDEX domains_by_tenant ON domains(tenant_id);

ALTER TABLE accounts ADD COLUMN tenant_id TEXT REFERENCES tenants(id); -- NULL: that of its domain
CREATE INDEX accounts_by_tenant ON accounts(tenant_id) WHERE tenant_id IS NOT NULL;

CREATE TABLE api_tokens (
  id              TEXT PRIMARY KEY,        -- 16 random hexadecimal digits
  hash            BLOB NOT NULL UNIQUE,    -- SHA-256 of the token, which has 256 random bits
  label           TEXT NOT NULL DEFAULT '', -- what it is for
  scopes          TEXT NOT NULL,           -- of read, accounts, backups, all; divided by blanks
  tenant_id       TEXT REFERENCES tenants(id) ON DELETE CASCADE, -- NULL: it reaches every tenant
  created_at_ms   INTEGER NOT NULL,
  expires_at_ms   INTEGER,                 -- NULL: never
  last_used_at_ms INTEGER                  -- written in batches; NULL: never
) STRICT, WITHOUT ROWID;

ALTER TABLE audit ADD COLUMN tenant_id TEXT; -- of the account at that time; outlives the tenant: no reference
UPDATE audit SET tenant_id =
  (SELECT d.tenant_id FROM accounts a JOIN domains d ON d.id = a.domain_id WHERE a.id = audit.account_id);
CREATE INDEX audit_by_tenant ON audit(tenant_id, id);
