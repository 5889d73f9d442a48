-- The index of text as segments: see src/store/search/segment-format.js. It takes the place of two tables of FTS5, of which
-- one held all trigrams, so that most of what it found had to be looked at.
DROP TRIGGER search_content_hidden;
DROP TRIGGER search_content_deleted;
DROP TABLE search;
DROP TABLE search_word;

CREATE TABLE search_segments (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice; below 2^32, so that search_blocks.id stays below 2^53
  state INTEGER NOT NULL CHECK (state BETWEEN 0 AND 3), -- 0: being made, 1: live, 2: left, nobody begins to read it, 3: being deleted
  base INTEGER NOT NULL, -- contents.id from which its postings count
  last INTEGER NOT NULL, -- highest contents.id in it
  content_count INTEGER NOT NULL, -- contents in it, those deleted since included
  directory BLOB -- class and first term of each of its term blocks; NULL while it is being made
) STRICT;

CREATE TABLE search_blocks (
  id INTEGER PRIMARY KEY, -- search_segments.id * 2^21 + number of a term block, or + 2^20 + number of a posting block
  data BLOB NOT NULL -- raw length, four bytes, and a zstd frame
) STRICT;

-- How far the contents have been put on the list again, when an older program's index is made anew: contents.id; 0: not at all.
ALTER TABLE search_state ADD COLUMN reset_through INTEGER NOT NULL DEFAULT 0;

-- Postings of what goes stay in their segment until it is merged: they stand for no message.
CREATE TRIGGER search_content_hidden AFTER UPDATE OF hash ON contents
WHEN NEW.hash IS NULL AND OLD.hash IS NOT NULL BEGIN
  UPDATE search_state SET deleted_count = deleted_count + 1
  WHERE NOT EXISTS (SELECT 1 FROM search_pending WHERE content_id = OLD.id);
  DELETE FROM search_pending WHERE content_id = OLD.id;
  DELETE FROM search_header WHERE rowid = OLD.id;
END;
CREATE TRIGGER search_content_deleted AFTER DELETE ON contents WHEN OLD.hash IS NOT NULL BEGIN
  UPDATE search_state SET deleted_count = deleted_count + 1
  WHERE NOT EXISTS (SELECT 1 FROM search_pending WHERE content_id = OLD.id);
  DELETE FROM search_pending WHERE content_id = OLD.id;
  DELETE FROM search_header WHERE rowid = OLD.id;
END;
