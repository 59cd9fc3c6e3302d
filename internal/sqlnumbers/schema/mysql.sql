-- The table of small numbers on MySQL 5.7+ and MariaDB 10.2+. dbseq creates it on first
-- use if its account may. Otherwise run this file once, and grant the account SELECT,
-- INSERT and UPDATE on the table.

-- One row per name, such as shop/orders. After restoring a backup, raise max_id by hand. Never lower it.
CREATE TABLE snowlease_segment (
  name     VARCHAR(129) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  first_id BIGINT       NOT NULL, -- the first number of the last reservation
  max_id   BIGINT       NOT NULL, -- the greatest number given
  seen_ms  BIGINT       NOT NULL, -- time of the last reservation, in Unix milliseconds
  PRIMARY KEY (name)
) ENGINE=InnoDB;
