-- The rows of accounts had 4 kB, nearly all of it the key that mail is sealed to, on an overflow page of its own; in a table
-- WITHOUT ROWID a search reads that page at each comparison. Measured with 1,000 accounts: 11 microseconds for each with no
-- other file open, 500 with 1,000 open mailboxes. The keys go into a table of their own, and the sealing identities into one
-- with rowids.
CREATE TABLE account_seals (
  account_id TEXT NOT NULL UNIQUE REFERENCES accounts(id),
  recipient  TEXT NOT NULL,                -- age1pq1…, of the current sealing identity
  public_key BLOB NOT NULL                 -- the same as bytes: deliveries are sealed to it
) STRICT;

INSERT INTO account_seals SELECT id, seal_recipient, seal_public_key FROM accounts;
ALTER TABLE accounts DROP COLUMN seal_recipient;
ALTER TABLE accounts DROP COLUMN seal_public_key;

CREATE TABLE new_seal_identities (
  account_id     TEXT NOT NULL REFERENCES accounts(id),
  number         INTEGER NOT NULL,         -- 1, 2, …; the highest is the current one
  recipient      TEXT NOT NULL,            -- age1pq1…
  key_epoch      INTEGER NOT NULL,         -- of the master key that it is wrapped under
  wrapped_secret BLOB NOT NULL,            -- 32 bytes under the seal key
  created_at_ms  INTEGER NOT NULL,
  PRIMARY KEY (account_id, number)
) STRICT;

INSERT INTO new_seal_identities SELECT * FROM seal_identities;
DROP TABLE seal_identities;
ALTER TABLE new_seal_identities RENAME TO seal_identities;

-- The sums of a tenant, without the accounts of others.
DROP INDEX accounts_by_domain;
CREATE INDEX accounts_by_domain ON accounts(domain_id, tenant_id, used_bytes);
DROP INDEX accounts_by_tenant;
CREATE INDEX accounts_by_tenant ON accounts(tenant_id, used_bytes) WHERE tenant_id IS NOT NULL;
