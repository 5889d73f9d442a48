-- The search index. It is made of contents, as message_meta is: a copy of a message is indexed once. All text in it is
-- folded by src/store/search/fold.js, so the tokenizers fold nothing; U+FFFD stands between pieces that must not match
-- together, and for what FTS5 cannot hold (NUL, noncharacters, halves of pairs): a term with any of these is scanned.

-- Substrings of any text: candidates are the rows with all trigrams of a term. Two rows a content:
-- rowid contents.id * 2: decoded text of all text parts, and headers of messages inside;
-- rowid contents.id * 2 + 1: the message's own header, decoded. So BODY reads the even rows, TEXT all.
CREATE VIRTUAL TABLE search USING fts5 (
  text, -- folded, code point by code point
  content = '', contentless_delete = 1, detail = 'none', tokenize = 'trigram case_sensitive 1'
);

-- Words of the same text under the same rowids: a word of the text that begins with the term is a certain hit, which
-- spares frequent terms the look at their messages. Not every word is here, so that nothing follows from a miss.
CREATE VIRTUAL TABLE search_word USING fts5 (
  words, -- distinct runs of letters or of digits, folded, divided by spaces; `ascii` takes them as they are
  content = '', contentless_delete = 1, detail = 'none', tokenize = 'ascii'
);

-- What SUBJECT, FROM, TO and CC ask. Short texts, so that positions are kept and a phrase of trigrams is the answer
-- itself: no message is looked at. rowid is contents.id.
CREATE VIRTUAL TABLE search_header USING fts5 (
  subject, -- folded values of all fields of this name
  sender, -- the same of From
  recipient, -- of To
  copy, -- of Cc
  content = '', contentless_delete = 1, detail = 'full', tokenize = 'trigram case_sensitive 1'
);

-- Contents that are complete and not in the index: SEARCH looks at them one by one.
CREATE TABLE search_pending (
  content_id INTEGER PRIMARY KEY, -- contents.id
  is_left_out INTEGER NOT NULL DEFAULT 0 CHECK (is_left_out IN (0, 1)) -- 1: never to be indexed: too long, or damaged
) STRICT;

CREATE TABLE search_state (
  id INTEGER PRIMARY KEY CHECK (id = 1), -- one row
  text_version INTEGER NOT NULL, -- of the code that made the indexed text; another one makes the whole index anew
  indexed_count INTEGER NOT NULL, -- contents that were indexed since the last merge, those deleted since included
  deleted_count INTEGER NOT NULL -- of these, how many have been deleted: their postings stay until a merge
) STRICT;
INSERT INTO search_state (id, text_version, indexed_count, deleted_count) VALUES (1, 0, 0, 0);

-- By triggers, so that no way into the file or out of it can forget the index.
CREATE TRIGGER search_content_inserted AFTER INSERT ON contents WHEN NEW.hash IS NOT NULL BEGIN
  INSERT OR IGNORE INTO search_pending (content_id) VALUES (NEW.id);
END;
CREATE TRIGGER search_content_completed AFTER UPDATE OF hash ON contents
WHEN NEW.hash IS NOT NULL AND OLD.hash IS NULL BEGIN
  INSERT OR IGNORE INTO search_pending (content_id) VALUES (NEW.id);
END;
-- A content goes in two steps: it is hidden (its hash becomes NULL), then its rows go.
CREATE TRIGGER search_content_hidden AFTER UPDATE OF hash ON contents
WHEN NEW.hash IS NULL AND OLD.hash IS NOT NULL BEGIN
  UPDATE search_state SET deleted_count = deleted_count + 1
  WHERE NOT EXISTS (SELECT 1 FROM search_pending WHERE content_id = OLD.id);
  DELETE FROM search_pending WHERE content_id = OLD.id;
  DELETE FROM search WHERE rowid = OLD.id * 2;
  DELETE FROM search WHERE rowid = OLD.id * 2 + 1;
  DELETE FROM search_word WHERE rowid = OLD.id * 2;
  DELETE FROM search_word WHERE rowid = OLD.id * 2 + 1;
  DELETE FROM search_header WHERE rowid = OLD.id;
END;
CREATE TRIGGER search_content_deleted AFTER DELETE ON contents WHEN OLD.hash IS NOT NULL BEGIN
  UPDATE search_state SET deleted_count = deleted_count + 1
  WHERE NOT EXISTS (SELECT 1 FROM search_pending WHERE content_id = OLD.id);
  DELETE FROM search_pending WHERE content_id = OLD.id;
  DELETE FROM search WHERE rowid = OLD.id * 2;
  DELETE FROM search WHERE rowid = OLD.id * 2 + 1;
  DELETE FROM search_word WHERE rowid = OLD.id * 2;
  DELETE FROM search_word WHERE rowid = OLD.id * 2 + 1;
  DELETE FROM search_header WHERE rowid = OLD.id;
END;

INSERT INTO search_pending (content_id) SELECT id FROM contents WHERE hash IS NOT NULL;
