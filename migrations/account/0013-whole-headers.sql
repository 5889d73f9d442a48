-- What lists had not of a header, so that they have all of it (src/mime/header-fields.js), in rows and later in blocks as the rest of
-- what lists are made of.

-- DKIM-Signature, Authentication-Results and the like, which Apple Mail lists: as long as all that others list.
CREATE TABLE message_signatures (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
  lines BLOB NOT NULL -- in their order; no row if there are none
) STRICT;
CREATE TABLE signature_blocks (
  id INTEGER PRIMARY KEY, -- contents.id / 32, rounded down
  builder_version INTEGER NOT NULL, -- of the MIME code that made what is in it
  size INTEGER NOT NULL, -- decompressed, bytes
  data BLOB NOT NULL -- as in envelope_blocks; a content that has an entry in field_blocks and none here has no such lines
) STRICT;

-- All other lines, for programs that list whole headers.
CREATE TABLE message_rests (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
  lines BLOB NOT NULL -- in their order; no row if there are none
) STRICT;
CREATE TABLE rest_blocks (
  id INTEGER PRIMARY KEY, -- contents.id / 32, rounded down
  builder_version INTEGER NOT NULL, -- of the MIME code that made what is in it
  size INTEGER NOT NULL, -- decompressed, bytes
  data BLOB NOT NULL -- as in signature_blocks
) STRICT;
