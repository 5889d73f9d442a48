-- A UIDVALIDITY under which no UID was ever given may come back: no client has kept anything by it.
DROP TRIGGER mailbox_deleted;
DROP TRIGGER mailbox_uid_validity_changed;
CREATE TRIGGER mailbox_deleted AFTER DELETE ON mailboxes WHEN OLD.uid_next > 1 BEGIN
  INSERT OR IGNORE INTO past_uid_validities (uid_validity) VALUES (OLD.uid_validity);
END;
CREATE TRIGGER mailbox_uid_validity_changed AFTER UPDATE OF uid_validity ON mailboxes
WHEN NEW.uid_validity <> OLD.uid_validity AND OLD.uid_next > 1 BEGIN
  INSERT OR IGNORE INTO past_uid_validities (uid_validity) VALUES (OLD.uid_validity);
END;
