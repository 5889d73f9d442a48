-- How often the numbers of this file were lifted because it came out of a backup. The directory counts on, and lifts an older
-- copy by what it lacks.
ALTER TABLE account ADD COLUMN lifts INTEGER NOT NULL DEFAULT 0;
