-- The tables of dbseq on SQLite 3.37+. dbseq creates them. Run this file by hand only
-- with WithoutMigrate. Times are Unix milliseconds.

-- One row per worker id, with its lease and its mark.
CREATE TABLE snowlease_slot (
  ns         TEXT    NOT NULL,
  slot       INTEGER NOT NULL,
  owner      TEXT    NOT NULL, -- nonce of the borrow, reversed if given back
  holder     TEXT    NOT NULL, -- for people to read
  token      INTEGER NOT NULL,
  ver        INTEGER NOT NULL, -- changes with every write
  ticket     INTEGER NOT NULL,
  seen_ms    INTEGER NOT NULL, -- time of the last write
  since_ms   INTEGER NOT NULL,
  floor_ms   INTEGER NOT NULL,
  expires_ms INTEGER NOT NULL,
  hwm_ms     INTEGER NOT NULL, -- the mark: no id of this worker lies above it
  hold_ms    INTEGER NOT NULL DEFAULT 0, -- max_ttl and skew of the pin that the row carries
  used_ms    INTEGER NOT NULL DEFAULT 0, -- as much of that as grants keep to
  shape      TEXT, -- layout and pool of the pin, or that it is retired
  PRIMARY KEY (ns, slot)
) STRICT;

-- Tickets, which spread borrowers over the slots.
CREATE TABLE snowlease_ticket (
  id    INTEGER PRIMARY KEY AUTOINCREMENT,
  ns    TEXT NOT NULL,
  owner TEXT NOT NULL,
  UNIQUE (ns, id) -- to find those of a namespace
) STRICT;

-- One row per namespace.
CREATE TABLE snowlease_meta (
  ns            TEXT    NOT NULL PRIMARY KEY,
  pin           TEXT    NOT NULL,
  incarnation   TEXT    NOT NULL,
  former        TEXT    NOT NULL, -- the incarnation before
  quarantine_ms INTEGER NOT NULL, -- no grant starts at or below it
  reason        TEXT    NOT NULL
) STRICT;
