-- Folders that are made for a mailbox before its account has rows: who is killed between the two leaves one that is nobody's.
CREATE TABLE planned_folders (
  folder   TEXT PRIMARY KEY,               -- relative to the data folder
  until_ms INTEGER NOT NULL                -- from then on it is to be removed, unless an account stands in it
) STRICT, WITHOUT ROWID;
