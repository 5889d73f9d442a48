-- Mailboxes that are being put back from a backup, or have been and were not opened since. Nothing inside a mailbox can
-- be changed without its key, so what a restore leaves to be done waits here for the next unlock.
CREATE TABLE restores (
  account_id      TEXT PRIMARY KEY REFERENCES accounts(id) ON DELETE CASCADE,
  generation      TEXT NOT NULL,           -- of the backup
  state           TEXT NOT NULL CHECK (state IN ('asked', 'switching', 'lift', 'check')), -- what comes next: see src/accounts/restored.js
  staged          TEXT NOT NULL DEFAULT '', -- folder within the account's: what takes the mailbox's place
  replaced        TEXT NOT NULL DEFAULT '', -- folder within the account's: where the present mailbox goes
  cipher          TEXT,                    -- of the staged mail.db
  requested_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
