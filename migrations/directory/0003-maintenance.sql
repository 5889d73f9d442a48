-- What maintenance has done to each mailbox, and when it is next to try. Figures only: no names of mailboxes, no content.
-- Times are milliseconds since 1970-01-01T00:00:00Z.

CREATE TABLE maintenance_accounts (
  account_id      TEXT PRIMARY KEY REFERENCES accounts(id) ON DELETE CASCADE,
  file_bytes      INTEGER,                 -- of mail.db when it was last looked at; NULL: never
  free_bytes      INTEGER,                 -- of these, in pages without content
  measured_at_ms  INTEGER,
  requested_at_ms INTEGER                  -- an operator asked for every job at the next occasion; NULL: done since
) STRICT, WITHOUT ROWID;

CREATE TABLE maintenance_jobs (
  account_id     TEXT NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
  job            TEXT NOT NULL,            -- as in src/maintenance/jobs
  done_at_ms     INTEGER,                  -- when it last came to a good end; NULL: never
  failures       INTEGER NOT NULL DEFAULT 0, -- in a row
  failed_code    TEXT,                     -- error code of the last failure; NULL when it was followed by a good end
  next_try_at_ms INTEGER,                  -- not before; NULL: by its interval
  PRIMARY KEY (account_id, job)
) STRICT, WITHOUT ROWID;

CREATE TABLE maintenance_runs (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  at_ms        INTEGER NOT NULL,           -- when it began
  account_id   TEXT NOT NULL REFERENCES accounts(id) ON DELETE CASCADE,
  job          TEXT NOT NULL,
  why          TEXT NOT NULL,              -- 'by schedule', 'asked for', 'free 37 %', …
  result       TEXT NOT NULL CHECK (result IN ('done', 'skipped', 'stopped', 'failed')),
  note         TEXT,                       -- why it was skipped, or the error code; NULL for none
  before       TEXT NOT NULL,              -- JSON: figures by name
  after        TEXT NOT NULL,              -- the same afterwards
  took_ms      INTEGER NOT NULL
) STRICT;

CREATE INDEX maintenance_runs_by_account ON maintenance_runs(account_id, id);
CREATE INDEX maintenance_runs_by_time ON maintenance_runs(at_ms);
