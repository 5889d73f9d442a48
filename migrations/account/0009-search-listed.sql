-- Contents that are not in the search index yet are on a list; most of them without a row on it: those above a mark are on it by
-- their id. A message that comes writes a page less for that, and takes none off when it is indexed.
DROP TRIGGER search_content_inserted;
DROP TRIGGER search_content_completed;
DROP TRIGGER search_content_hidden;
DROP TRIGGER search_content_deleted;

-- Of contents up to the mark, those that are complete and not in the index. Under the old name it would pass for the whole list.
ALTER TABLE search_pending RENAME TO search_listed;

ALTER TABLE search_state ADD COLUMN listed_through INTEGER NOT NULL DEFAULT 0; -- the mark, contents.id: complete contents above it are not in the index
UPDATE search_state SET listed_through = (SELECT coalesce(max(id), 0) FROM contents);

-- Ids are taken ahead, and large messages arrive for a while: some contents are complete only after the mark has passed them.
CREATE TRIGGER search_content_inserted AFTER INSERT ON contents
WHEN NEW.hash IS NOT NULL AND NEW.id <= (SELECT listed_through FROM search_state) BEGIN
  INSERT OR IGNORE INTO search_listed (content_id) VALUES (NEW.id);
END;
CREATE TRIGGER search_content_completed AFTER UPDATE OF hash ON contents
WHEN NEW.hash IS NOT NULL AND OLD.hash IS NULL AND NEW.id <= (SELECT listed_through FROM search_state) BEGIN
  INSERT OR IGNORE INTO search_listed (content_id) VALUES (NEW.id);
END;
CREATE TRIGGER search_content_hidden AFTER UPDATE OF hash ON contents
WHEN NEW.hash IS NULL AND OLD.hash IS NOT NULL AND NEW.id <= (SELECT listed_through FROM search_state) BEGIN
  UPDATE search_state SET deleted_count = deleted_count + 1
  WHERE NOT EXISTS (SELECT 1 FROM search_listed WHERE content_id = OLD.id);
  DELETE FROM search_listed WHERE content_id = OLD.id;
  DELETE FROM search_header WHERE rowid = OLD.id;
END;
CREATE TRIGGER search_content_deleted AFTER DELETE ON contents
WHEN OLD.hash IS NOT NULL AND OLD.id <= (SELECT listed_through FROM search_state) BEGIN
  UPDATE search_state SET deleted_count = deleted_count + 1
  WHERE NOT EXISTS (SELECT 1 FROM search_listed WHERE content_id = OLD.id);
  DELETE FROM search_listed WHERE content_id = OLD.id;
  DELETE FROM search_header WHERE rowid = OLD.id;
END;
