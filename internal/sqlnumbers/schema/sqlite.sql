-- The table of small numbers on SQLite 3.37+. dbseq creates it on first use. Run this
-- file by hand only with WithoutMigrate.

-- One row per name, such as shop/orders. After restoring a backup, raise max_id by hand. Never lower it.
CREATE TABLE snowlease_segment (
  name     TEXT    NOT NULL PRIMARY KEY,
  first_id INTEGER NOT NULL, -- the first number of the last reservation
  max_id   INTEGER NOT NULL, -- the greatest number given
  seen_ms  INTEGER NOT NULL  -- time of the last reservation, in Unix milliseconds
) STRICT;
