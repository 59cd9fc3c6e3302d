-- The table of dbseq.Segments on SQLite 3.35+. It is created on first use; this file is
-- for reading, and for running by hand with WithoutMigrate.

-- One row per name. Raise max_id by hand after a backup was restored; never lower it.
CREATE TABLE snowlease_segment (
  name     TEXT    NOT NULL PRIMARY KEY,
  first_id INTEGER NOT NULL, -- the first number of the last reservation
  max_id   INTEGER NOT NULL, -- the greatest number that was given
  seen_ms  INTEGER NOT NULL  -- the last reservation, in Unix milliseconds
);
