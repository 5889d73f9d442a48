-- A restore may be asked for while the mailbox in place has come out of a backup itself, and waits to be lifted or checked. If
-- the second one is called off, the first goes on.
ALTER TABLE restores ADD COLUMN before_state TEXT CHECK (before_state IN ('lift', 'check')); -- of the first; NULL: it is over, or there was none
ALTER TABLE restores ADD COLUMN before_generation TEXT;                                       -- of its backup

-- How often the numbers of each mailbox were lifted, or are to be at the next unlock: so an older backup that is restored after a
-- newer one goes on above what came in between. Rows stay when accounts are deleted, which may come back out of a backup.
CREATE TABLE lifts (
  account_id TEXT PRIMARY KEY,
  lifts      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- Mailboxes that were restored before this was counted.
INSERT INTO lifts (account_id, lifts)
  SELECT account_id, count(*) FROM audit
  WHERE action IN ('restore-switched', 'restore-deleted') AND account_id IS NOT NULL GROUP BY account_id;
