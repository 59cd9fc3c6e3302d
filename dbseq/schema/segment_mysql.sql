-- The table of dbseq.Segments on MySQL 5.7+ and MariaDB 10.2+. It is created on first
-- use where the account may; otherwise run this file once, and grant the account
-- SELECT, INSERT and UPDATE on it.

-- One row per name. Raise max_id by hand after a backup was restored; never lower it.
CREATE TABLE snowlease_segment (
  name     VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  first_id BIGINT      NOT NULL, -- the first number of the last reservation
  max_id   BIGINT      NOT NULL, -- the greatest number that was given
  seen_ms  BIGINT      NOT NULL, -- the last reservation, in Unix milliseconds
  PRIMARY KEY (name)
) ENGINE=InnoDB;
