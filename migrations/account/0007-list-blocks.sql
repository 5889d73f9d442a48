-- What lists are made of, packed: rows of 32 contents that follow each other become one compressed row, a tenth as long,
-- so that a list decrypts a tenth as many pages. See src/store/list-blocks.js. New contents have rows of their own first.
CREATE TABLE envelope_blocks (
  id INTEGER PRIMARY KEY, -- contents.id / 32, rounded down
  builder_version INTEGER NOT NULL, -- of the MIME code that made what is in it
  size INTEGER NOT NULL, -- decompressed, bytes
  data BLOB NOT NULL -- zstd frame of: length of each entry plus 1, 0 for none (32 times 4 bytes, lowest first); the entries
) STRICT;
CREATE TABLE body_structure_blocks (
  id INTEGER PRIMARY KEY, -- contents.id / 32, rounded down
  builder_version INTEGER NOT NULL, -- of the MIME code that made what is in it
  size INTEGER NOT NULL, -- decompressed, bytes
  data BLOB NOT NULL -- as in envelope_blocks
) STRICT;
CREATE TABLE part_tree_blocks (
  id INTEGER PRIMARY KEY, -- contents.id / 32, rounded down
  builder_version INTEGER NOT NULL, -- of the MIME code that made what is in it
  size INTEGER NOT NULL, -- decompressed, bytes
  data BLOB NOT NULL -- as in envelope_blocks
) STRICT;
CREATE TABLE field_blocks (
  id INTEGER PRIMARY KEY, -- contents.id / 32, rounded down
  builder_version INTEGER NOT NULL, -- of the MIME code that made what is in it
  size INTEGER NOT NULL, -- decompressed, bytes
  data BLOB NOT NULL -- as in envelope_blocks
) STRICT;
CREATE TABLE received_blocks (
  id INTEGER PRIMARY KEY, -- contents.id / 32, rounded down
  builder_version INTEGER NOT NULL, -- of the MIME code that made what is in it
  size INTEGER NOT NULL, -- decompressed, bytes
  data BLOB NOT NULL -- as in envelope_blocks; a content that has an entry in field_blocks and none here has no Received
) STRICT;
CREATE TABLE list_packing (
  id INTEGER PRIMARY KEY CHECK (id = 1), -- one row
  builder_version INTEGER NOT NULL, -- of the MIME code whose rows are being packed; another one begins anew
  through INTEGER NOT NULL -- contents.id below which everything has been packed once
) STRICT;
INSERT INTO list_packing (id, builder_version, through) VALUES (1, 0, 0);
