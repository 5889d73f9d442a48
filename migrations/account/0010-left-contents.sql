-- A long message may be on its way to a client when another one expunges it: the sweep waits a while for who reads it.
ALTER TABLE garbage_contents ADD COLUMN left_at INTEGER; -- milliseconds: expunged, or last read since; NULL: nobody reads it
