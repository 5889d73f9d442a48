-- directory.db: who has a mailbox, which credentials unwrap its master key, and what was done to it.
-- Nothing here opens a mailbox without a credential. Times are milliseconds since 1970-01-01T00:00:00Z.

CREATE TABLE domains (
  id            INTEGER PRIMARY KEY,
  name          TEXT NOT NULL UNIQUE,      -- ASCII (IDNA), lower case: one tenant
  created_at_ms INTEGER NOT NULL
) STRICT;

CREATE TABLE accounts (
  id               TEXT PRIMARY KEY,       -- 16 random hexadecimal digits; never used twice
  domain_id        INTEGER NOT NULL REFERENCES domains(id),
  address          TEXT NOT NULL UNIQUE,   -- primary address: canonical local part @ ASCII domain
  folder           TEXT NOT NULL UNIQUE,   -- relative to the data folder
  created_at_ms    INTEGER NOT NULL,
  is_enabled       INTEGER NOT NULL DEFAULT 1 CHECK (is_enabled IN (0, 1)),
  cipher           TEXT,                   -- of mail.db; NULL: brought from elsewhere, not known yet
  quota_bytes      INTEGER NOT NULL DEFAULT 0 CHECK (quota_bytes >= 0),    -- 0: no limit
  quota_messages   INTEGER NOT NULL DEFAULT 0 CHECK (quota_messages >= 0), -- 0: no limit
  used_bytes       INTEGER NOT NULL DEFAULT 0, -- copied from mail.db, within a second and at close
  used_messages    INTEGER NOT NULL DEFAULT 0,
  key_epoch        INTEGER NOT NULL DEFAULT 1, -- grows with each new master key
  seal_recipient   TEXT NOT NULL,          -- age1pq1…, of the current sealing identity
  seal_public_key  BLOB NOT NULL           -- the same as bytes: deliveries are sealed to it
) STRICT, WITHOUT ROWID;

CREATE INDEX accounts_by_domain ON accounts(domain_id);

-- Every address that mail or a login may name: the primary ones too, so that uniqueness holds over all.
CREATE TABLE addresses (
  address    TEXT PRIMARY KEY,             -- canonical
  account_id TEXT NOT NULL REFERENCES accounts(id)
) STRICT, WITHOUT ROWID;

CREATE INDEX addresses_by_account ON addresses(account_id);

CREATE TABLE credentials (
  id                 TEXT PRIMARY KEY,     -- 16 random hexadecimal digits
  account_id         TEXT NOT NULL REFERENCES accounts(id),
  kind               TEXT NOT NULL CHECK (kind IN ('password', 'app-password', 'recovery')),
  label              TEXT NOT NULL DEFAULT '', -- what the user calls it
  scope              TEXT NOT NULL CHECK (scope IN ('read-write', 'read-only')),
  expires_at_ms      INTEGER,              -- NULL: never
  version            INTEGER NOT NULL DEFAULT 1, -- grows with each new password: live sessions notice
  argon2_memory_kib  INTEGER,              -- the three are NULL for codes
  argon2_passes      INTEGER,
  argon2_parallelism INTEGER,
  pepper_id          TEXT,                 -- NULL for codes
  key_epoch          INTEGER NOT NULL,
  lookup             BLOB,                 -- app passwords: 8 bytes derived from the code find the row
  salt               BLOB NOT NULL,        -- 16 random bytes
  commitment         BLOB NOT NULL,        -- 32 bytes: see src/crypto/kdf.js
  wrapped_key        BLOB NOT NULL,        -- the master key: see src/crypto/key-wrap.js
  created_at_ms      INTEGER NOT NULL,
  changed_at_ms      INTEGER NOT NULL,
  last_used_at_ms    INTEGER               -- written in batches; NULL: never
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX credentials_single ON credentials(account_id, kind) WHERE kind <> 'app-password';
CREATE UNIQUE INDEX credentials_by_lookup ON credentials(account_id, lookup) WHERE lookup IS NOT NULL;
CREATE INDEX credentials_by_account ON credentials(account_id);

-- The current identity and those before it: mail that was sealed before a rekey still opens.
CREATE TABLE seal_identities (
  account_id     TEXT NOT NULL REFERENCES accounts(id),
  number         INTEGER NOT NULL,         -- 1, 2, …; the highest is the current one
  recipient      TEXT NOT NULL,            -- age1pq1…
  key_epoch      INTEGER NOT NULL,         -- of the master key that it is wrapped under
  wrapped_secret BLOB NOT NULL,            -- 32 bytes under the seal key
  created_at_ms  INTEGER NOT NULL,
  PRIMARY KEY (account_id, number)
) STRICT, WITHOUT ROWID;

-- A rekey that has begun. mail.db's key and the rows above cannot change in one transaction: whoever
-- unlocks next looks which key opens the file, and finishes the change or forgets it.
CREATE TABLE rekeys (
  account_id       TEXT PRIMARY KEY REFERENCES accounts(id),
  wrapped_next_key BLOB NOT NULL,          -- the next master key under the present one
  next_rows        TEXT NOT NULL,          -- JSON: the rows that then stand, all keys in them wrapped
  started_at_ms    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Folders whose keys are destroyed and whose files still have to go.
CREATE TABLE removals (
  folder          TEXT PRIMARY KEY,        -- relative to the data folder
  requested_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms          INTEGER NOT NULL,
  account_id     TEXT,                     -- outlives the account: no reference
  action         TEXT NOT NULL,            -- 'login', 'login-failed', 'account-create', …
  remote_address TEXT,                     -- NULL from the command line
  detail         TEXT                      -- JSON, never a secret
) STRICT;

CREATE INDEX audit_by_time ON audit(at_ms);
CREATE INDEX audit_by_account ON audit(account_id, at_ms);
