-- The table of dbseq.Segments on PostgreSQL 10+. It is created on first use where the
-- account may; otherwise run this file once, and grant the account SELECT, INSERT and
-- UPDATE on it.

-- One row per name. Raise max_id by hand after a backup was restored; never lower it.
CREATE TABLE snowlease_segment (
  name     VARCHAR(64) COLLATE "C" PRIMARY KEY,
  first_id BIGINT NOT NULL, -- the first number of the last reservation
  max_id   BIGINT NOT NULL, -- the greatest number that was given
  seen_ms  BIGINT NOT NULL  -- the last reservation, in Unix milliseconds
) WITH (fillfactor = 50);
