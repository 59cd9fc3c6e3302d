-- The tables of dbseq on MySQL 5.7+ and MariaDB 10.2+. dbseq creates them if its account
-- may. Otherwise run this file once, and grant the account SELECT, INSERT and UPDATE on
-- slot and meta, and SELECT, INSERT and DELETE on ticket. Times are Unix milliseconds.

-- One row per worker id, with its lease and its mark.
CREATE TABLE snowlease_slot (
  ns         VARCHAR(64)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  slot       BIGINT       NOT NULL,
  owner      VARCHAR(32)  CHARACTER SET ascii COLLATE ascii_bin NOT NULL, -- nonce of the borrow, reversed if given back
  holder     VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- for people to read
  token      BIGINT       NOT NULL,
  ver        BIGINT       NOT NULL, -- changes with every write
  ticket     BIGINT       NOT NULL,
  seen_ms    BIGINT       NOT NULL, -- time of the last write
  since_ms   BIGINT       NOT NULL,
  floor_ms   BIGINT       NOT NULL,
  expires_ms BIGINT       NOT NULL,
  hwm_ms     BIGINT       NOT NULL, -- the mark: no id of this worker lies above it
  hold_ms    BIGINT       NOT NULL DEFAULT 0, -- max_ttl and skew of the pin that the row carries
  used_ms    BIGINT       NOT NULL DEFAULT 0, -- as much of that as grants keep to
  shape      VARCHAR(255) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, -- layout and pool of the pin, or that it is retired
  PRIMARY KEY (ns, slot)
) ENGINE=InnoDB;

-- Tickets, which spread borrowers over the slots.
CREATE TABLE snowlease_ticket (
  id    BIGINT      NOT NULL AUTO_INCREMENT,
  ns    VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  owner VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  PRIMARY KEY (id),
  UNIQUE (ns, id) -- to find those of a namespace
) ENGINE=InnoDB;

-- One row per namespace.
CREATE TABLE snowlease_meta (
  ns            VARCHAR(64)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  pin           VARCHAR(255)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  incarnation   VARCHAR(512)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  former        VARCHAR(512)  CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL, -- the incarnation before
  quarantine_ms BIGINT        NOT NULL, -- no grant starts at or below it
  reason        VARCHAR(2000) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
  PRIMARY KEY (ns)
) ENGINE=InnoDB;
