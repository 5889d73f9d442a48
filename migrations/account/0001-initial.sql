-- One user's mail. Every table is STRICT, every column says what it means and in which unit.
-- Times are milliseconds or seconds since 1970-01-01T00:00:00Z, as each column says.

CREATE TABLE account (
  id INTEGER PRIMARY KEY CHECK (id = 1), -- one row
  last_uid_validity INTEGER NOT NULL, -- highest UIDVALIDITY ever given; a new mailbox gets max(now in seconds, this + 1)
  created_at INTEGER NOT NULL -- when the file was made, milliseconds
) STRICT;

CREATE TABLE mailboxes (
  id INTEGER PRIMARY KEY AUTOINCREMENT CHECK (id < 2097152), -- never used twice; below 2^21, so that messages.id stays below 2^53
  name TEXT NOT NULL UNIQUE, -- full name in Unicode, levels divided by '/'; the inbox is 'INBOX'
  special_use TEXT, -- RFC 6154 attribute such as \Sent; NULL for none
  uid_validity INTEGER NOT NULL UNIQUE CHECK (uid_validity BETWEEN 1 AND 4294967295),
  uid_next INTEGER NOT NULL CHECK (uid_next BETWEEN 1 AND 4294967296), -- UID of the next message
  highest_modseq INTEGER NOT NULL CHECK (highest_modseq >= 1), -- of any change in this mailbox, expunges included
  recent_from_uid INTEGER NOT NULL, -- messages from this UID on are \Recent for the next session that selects
  expunged_floor INTEGER NOT NULL, -- rows of `expunged` up to this modseq have been pruned
  created_at INTEGER NOT NULL, -- milliseconds
  -- Counters of this mailbox's rows in `messages`, moved in the same transaction as the rows.
  message_count INTEGER NOT NULL CHECK (message_count >= 0),
  unseen_count INTEGER NOT NULL CHECK (unseen_count >= 0), -- without \Seen
  deleted_count INTEGER NOT NULL CHECK (deleted_count >= 0), -- with \Deleted
  total_bytes INTEGER NOT NULL CHECK (total_bytes >= 0) -- sum of `size`
) STRICT;

-- RFC 3501 §6.3.6 and §6.3.9: a subscription is a name and outlives its mailbox.
CREATE TABLE subscriptions (
  name TEXT PRIMARY KEY -- full mailbox name
) STRICT, WITHOUT ROWID;

-- Numbered once for the whole account, so that COPY and MOVE never remap flags.
CREATE TABLE keywords (
  number INTEGER PRIMARY KEY CHECK (number BETWEEN 0 AND 58), -- 0..26: bit 5 + number of messages.flags; 27..58: bit number - 27 of messages.keywords
  name TEXT NOT NULL UNIQUE COLLATE NOCASE -- as the first client spelt it
) STRICT;

-- The bytes of messages, each content once in this account. No reference counter: a content without a message is garbage.
CREATE TABLE contents (
  id INTEGER PRIMARY KEY AUTOINCREMENT, -- never used twice (EMAILID); below 2^37, so that content_chunks.id stays below 2^53
  hash BLOB CHECK (length(hash) = 32), -- SHA-256 of the bytes; NULL while they still arrive
  size INTEGER NOT NULL, -- bytes; while they arrive, those that are here already
  chunk_size INTEGER NOT NULL, -- raw bytes in every chunk but the last
  staged_at INTEGER -- milliseconds; set while an APPEND streams in, NULL once a message may refer to it
) STRICT;
CREATE INDEX contents_by_hash ON contents (substr(hash, 1, 8)) WHERE hash IS NOT NULL;
CREATE INDEX contents_staged ON contents (staged_at) WHERE staged_at IS NOT NULL;

CREATE TABLE content_chunks (
  id INTEGER PRIMARY KEY, -- content_id * 65536 + number of the chunk, from 0
  codec INTEGER NOT NULL, -- 0: data is the raw bytes; 1: one zstd frame of them
  data BLOB NOT NULL
) STRICT;

-- Narrow and hot: one b-tree in the order of mailbox and UID. No blob, no text.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY, -- mailbox_id * 4294967296 + uid
  modseq INTEGER NOT NULL, -- RFC 7162 mod-sequence of the last change
  flags INTEGER NOT NULL, -- bits: 0 \Seen, 1 \Answered, 2 \Flagged, 3 \Deleted, 4 \Draft, 5..31 keywords 0..26
  keywords INTEGER NOT NULL, -- bits 0..31: keywords 27..58
  internal_date INTEGER NOT NULL, -- INTERNALDATE, seconds
  internal_zone INTEGER NOT NULL, -- offset of INTERNALDATE's zone from UTC, minutes
  saved_at INTEGER NOT NULL, -- when this copy came into this mailbox, milliseconds
  size INTEGER NOT NULL, -- RFC822.SIZE, bytes
  content_id INTEGER NOT NULL REFERENCES contents (id)
) STRICT;
-- The way back from a content: garbage collection and the search index need it.
CREATE INDEX messages_by_content ON messages (content_id);

-- What is computed once from a content, keyed by content: COPY and MOVE touch narrow rows only. Each table holds what is
-- read together, because every page that is read must be decrypted. A row whose builder_version is older than the MIME
-- code is made again when it is read.

-- What SORT and THREAD need, and BODY, which hardly anybody asks for.
CREATE TABLE message_meta (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
  builder_version INTEGER NOT NULL, -- of the MIME code that made this row
  sent_at INTEGER, -- Date header, seconds; NULL if missing or broken
  sent_zone INTEGER, -- offset of its zone from UTC, minutes
  base_subject TEXT NOT NULL, -- RFC 5256 §2.1
  message_id TEXT, -- Message-ID, as MIME code normalises it
  in_reply_to TEXT, -- first In-Reply-To
  reference_list TEXT NOT NULL, -- References as a JSON array of message ids, oldest first
  body BLOB NOT NULL -- BODY, wire bytes
) STRICT;

CREATE TABLE message_envelopes (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
  builder_version INTEGER NOT NULL, -- of the MIME code that made this row
  envelope BLOB NOT NULL -- ENVELOPE, wire bytes
) STRICT;

CREATE TABLE message_structures (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
  builder_version INTEGER NOT NULL, -- of the MIME code that made this row
  part_tree BLOB NOT NULL, -- offsets of all parts, encoded by src/mime/part-tree.js
  body_structure BLOB NOT NULL -- BODYSTRUCTURE, wire bytes
) STRICT;

-- The header fields that clients ask for in lists; any other is read from the content.
CREATE TABLE message_fields (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
  builder_version INTEGER NOT NULL, -- of the MIME code that made this row
  fields BLOB -- index of the listed fields and their lines but those of Received, see src/mime/header-fields.js; NULL: not listed
) STRICT;

-- Longer than all the others together, and asked for by few clients.
CREATE TABLE message_received (
  content_id INTEGER PRIMARY KEY REFERENCES contents (id) ON DELETE CASCADE,
  lines BLOB NOT NULL -- of Received, in their order; no row if there are none
) STRICT;

-- What has been expunged, in ranges, for QRESYNC and for sessions in other processes.
CREATE TABLE expunged (
  mailbox_id INTEGER NOT NULL REFERENCES mailboxes (id) ON DELETE CASCADE,
  modseq INTEGER NOT NULL, -- of the expunge
  first_uid INTEGER NOT NULL,
  last_uid INTEGER NOT NULL, -- inclusive
  expunged_at INTEGER NOT NULL, -- milliseconds; pruning by age raises mailboxes.expunged_floor
  PRIMARY KEY (mailbox_id, modseq, first_uid)
) STRICT, WITHOUT ROWID;

-- Sealed spool files that are in, written together with their message: a crash before the unlink delivers nothing twice.
CREATE TABLE drained (
  spool_name TEXT PRIMARY KEY, -- file name in the spool folder
  drained_at INTEGER NOT NULL -- milliseconds
) STRICT, WITHOUT ROWID;

-- What imports have brought in, so that a second run imports nothing twice.
CREATE TABLE import_log (
  key BLOB PRIMARY KEY, -- names one message of one source, as the importer chooses it
  message_id INTEGER NOT NULL, -- messages.id that it became (it may be gone since)
  imported_at INTEGER NOT NULL -- milliseconds
) STRICT, WITHOUT ROWID;

-- Work that is left after an expunge or a DELETE, done in slices afterwards. Survives a crash.
CREATE TABLE garbage_contents (
  content_id INTEGER PRIMARY KEY -- may be without a message: looked at by the sweep
) STRICT;
CREATE TABLE garbage_mailboxes (
  mailbox_id INTEGER PRIMARY KEY -- its row is gone, its messages go in slices
) STRICT;
