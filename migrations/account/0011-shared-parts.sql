-- An attachment that is in several messages is stored once. Found by the job that indexes, some time after the messages have
-- come; until then each has it among its own chunks.

-- Decoded bytes of base64 parts that more than one place has.
CREATE TABLE shared_parts (
  id INTEGER PRIMARY KEY, -- of the same counter as contents.id: its chunks, of 32768 bytes, are rows of content_chunks
  hash BLOB CHECK (length(hash) = 32), -- SHA-256 of the decoded bytes; NULL until all are here, and when no message needs them any more
  size INTEGER NOT NULL -- decoded bytes
) STRICT;
CREATE INDEX shared_parts_by_hash ON shared_parts (substr(hash, 1, 8)) WHERE hash IS NOT NULL;
CREATE INDEX shared_parts_without_hash ON shared_parts (id) WHERE hash IS NULL;

-- Which contents may have chunks that refer to them. Written before or with the first of those chunks.
CREATE TABLE shared_part_uses (
  content_id INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
  part_id INTEGER NOT NULL REFERENCES shared_parts (id),
  PRIMARY KEY (content_id, part_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_part_uses_by_part ON shared_part_uses (part_id);

-- Where base64 parts stand in the messages, with what tells those apart that decode to different bytes, nearly always.
CREATE TABLE part_places (
  content_id INTEGER NOT NULL REFERENCES contents (id) ON DELETE CASCADE,
  start INTEGER NOT NULL, -- where its text begins in the message, bytes
  line INTEGER NOT NULL, -- characters of a line
  size INTEGER NOT NULL, -- decoded bytes
  sample INTEGER NOT NULL, -- 48 bits of the SHA-256 of the first and the last of them
  is_shared INTEGER NOT NULL CHECK (is_shared IN (0, 1)), -- 1: the chunks have been looked at, and refer to a shared part where that is shorter
  PRIMARY KEY (content_id, start)
) STRICT, WITHOUT ROWID;
CREATE INDEX part_places_by_sample ON part_places (sample, size, is_shared);

-- Contents that have such parts, and have not been looked at.
CREATE TABLE part_queue (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE
) STRICT;
-- In the order in which they lie: that of the index by hash takes twenty times as long.
INSERT INTO part_queue SELECT id FROM contents NOT INDEXED WHERE hash IS NOT NULL AND size >= 4096;
