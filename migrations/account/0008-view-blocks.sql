-- Flags and MODSEQs of a large mailbox once more, packed: 1,024 UIDs that follow each other are one row, so that opening it
-- decrypts a thirtieth of the pages. Whoever changes a row of messages deletes the block that it is in. See
-- src/store/view-blocks.js.
CREATE TABLE view_blocks (
  id INTEGER PRIMARY KEY, -- messages.id / 1024, rounded down
  modseq INTEGER NOT NULL, -- the highest of its messages
  messages INTEGER NOT NULL, -- how many
  data BLOB NOT NULL -- zstd frame, lowest byte first: MODSEQ less that of the message before (8 bytes, IEEE 754) of each
                     -- message; flags (4 bytes) of each; keywords (4 bytes) of each; UID less the one before, for the
                     -- first one less that of the block's first, of each (2 bytes)
) STRICT;
