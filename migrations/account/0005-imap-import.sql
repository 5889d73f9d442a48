-- What an import from another IMAP server has to remember, so that it goes on where it was interrupted and a later run
-- brings what has changed since. Folder names are private: nothing of this stands outside the encrypted file.

-- With a key of the import from IMAP (src/store/moving-in/import-key.js): the flags that the message had at the source when it was
-- last looked at, sorted, with spaces between; NULL for other imports.
ALTER TABLE import_log ADD COLUMN source_flags TEXT;

-- One row for each folder of each source; another one when the source has given the folder another UIDVALIDITY.
CREATE TABLE imap_folders (
  id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id < 4294967296), -- never used twice: it stands in keys of import_log
  source TEXT NOT NULL, -- user@host
  path TEXT NOT NULL, -- full name at the source, in Unicode
  uid_validity INTEGER NOT NULL, -- of the source
  mailbox_id INTEGER NOT NULL, -- mailboxes.id that its messages go to (it may be gone since)
  keeps_uids INTEGER NOT NULL CHECK (keeps_uids IN (0, 1)), -- 1: the mailbox was new and empty, messages keep their UIDs
  has_identity INTEGER NOT NULL CHECK (has_identity IN (0, 1)), -- 1: the mailbox has the source's UIDVALIDITY
  modseq_limit INTEGER NOT NULL, -- the source's mod-sequences stay below it, the mailbox's are above; 0: not kept apart
  source_uid_next INTEGER NOT NULL, -- UIDNEXT of the source when a run last came to the end of the folder; 0: never
  own_uid_next INTEGER NOT NULL, -- what uid_next of the mailbox is if nothing else has come in since then
  source_modseq INTEGER NOT NULL, -- HIGHESTMODSEQ of the source at the beginning of the last whole run; 0: has none
  finished_at INTEGER, -- end of the last whole run, milliseconds; NULL: none yet
  UNIQUE (source, path, uid_validity)
) STRICT;

-- UIDVALIDITYs that mailboxes of this account have had: none may come back by an import, because its UIDs may have been given anew.
CREATE TABLE past_uid_validities (
  uid_validity INTEGER PRIMARY KEY
) STRICT;
CREATE TRIGGER mailbox_deleted AFTER DELETE ON mailboxes BEGIN
  INSERT OR IGNORE INTO past_uid_validities (uid_validity) VALUES (OLD.uid_validity);
END;
CREATE TRIGGER mailbox_uid_validity_changed AFTER UPDATE OF uid_validity ON mailboxes
WHEN NEW.uid_validity <> OLD.uid_validity BEGIN
  INSERT OR IGNORE INTO past_uid_validities (uid_validity) VALUES (OLD.uid_validity);
END;
