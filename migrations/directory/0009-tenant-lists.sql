-- What pages and sums of one tenant's accounts are read from, without the accounts of others and without the rows themselves.
-- Measured with 100,000 accounts in 1,000 tenants: a page takes 0.2 ms instead of 17, the sums 0.1 ms instead of 160.
DROP INDEX accounts_by_domain;
CREATE INDEX accounts_by_domain ON accounts(domain_id, tenant_id, address, created_at_ms, used_bytes, used_messages);
DROP INDEX accounts_by_tenant;
CREATE INDEX accounts_by_tenant ON accounts(tenant_id, address, created_at_ms, used_bytes, used_messages)
  WHERE tenant_id IS NOT NULL;
