-- Maintenance of every account of the host or of a tenant, asked for in one row instead of one for each account. An account has
-- been asked for by those that are no older than it and that it has not answered.
CREATE TABLE maintenance_requests (
  tenant_id       TEXT REFERENCES tenants(id) ON DELETE CASCADE, -- NULL: accounts of every tenant
  requested_at_ms INTEGER NOT NULL         -- of the last one; grows with each, whatever the clock says
) STRICT;

CREATE UNIQUE INDEX maintenance_requests_by_tenant ON maintenance_requests(coalesce(tenant_id, ''));

ALTER TABLE maintenance_accounts ADD COLUMN answered_at_ms INTEGER; -- the newest of these that is done; NULL: none
