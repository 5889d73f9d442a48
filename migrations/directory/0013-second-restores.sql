-- A restore may be asked for while the mailbox in place has come out of a backup itself, and waits to be lifted or checked. If
-- the second one is called off, the first goes on.
ALTER TABLE restores ADD COLUMN before_state TEXT CHECK (before_state IN ('lift', 'check')); -- of the first; NULL: it is over, or there was none
ALTER TABLE restores ADD COLUMN before_generation TEXT;                                       -- of its backup
