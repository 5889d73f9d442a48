-- Lines of the header that say who vouches for a message (DKIM-Signature, Authentication-Results and the like). Apple Mail lists
-- them; they are as long as all that others list. See src/mime/header-fields.js.
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
