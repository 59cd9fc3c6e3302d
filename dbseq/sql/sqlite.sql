-- The statements of dbseq on SQLite. Each begins with its name and its parameters in
-- the order of their numbers.
--
-- {now} is the host's clock in Unix milliseconds, read once per change.
-- {incarnation} and {same} are constant, because there is only one file.

-- clock()
SELECT {now};

-- incarnation()
SELECT {incarnation};

-- table(table)
SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?1;

-- file()
-- The file of the database, empty if it is in memory.
SELECT file FROM pragma_database_list WHERE name = 'main';

-- journal()
PRAGMA journal_mode;

-- probe()
CREATE TABLE IF NOT EXISTS snowlease_probe (n INTEGER);

-- mark(n)
INSERT INTO snowlease_probe (n) VALUES (?1);

-- marked(n)
SELECT COUNT(*) FROM snowlease_probe WHERE n = ?1;

-- look(ns, pool, first, last, owner, skew, ahead, slot)
-- Reads the namespace and the owner's slot, before every change. If the parameter slot
-- is below 0, that is a slot of the owner that does not expire within the skew.
SELECT {now}, COALESCE({incarnation}, ''),
       m.ns IS NOT NULL, COALESCE(SUBSTR(m.pin, 1, 1025), ''), COALESCE(SUBSTR(m.incarnation, 1, 512), ''), COALESCE(SUBSTR(m.former, 1, 512), ''),
       COALESCE(m.quarantine_ms, 0), COALESCE(SUBSTR(m.reason, 1, 2000), ''),
       s.known, s.beyond, s.soonest, s.ahead,
       h.slot IS NOT NULL, COALESCE(h.slot, 0), COALESCE(h.token, 0), COALESCE(h.ver, 0), COALESCE(h.ticket, 0),
       COALESCE(h.since_ms, 0), COALESCE(h.floor_ms, 0), COALESCE(h.expires_ms, 0), COALESCE(h.hwm_ms, 0)
  FROM (SELECT COUNT(*) AS known,
               EXISTS (SELECT 1 FROM snowlease_slot WHERE ns = ?1 AND slot < 0) OR EXISTS (SELECT 1 FROM snowlease_slot WHERE ns = ?1 AND slot >= ?2) AS beyond,
               COALESCE(MIN(MAX(expires_ms, hwm_ms)) FILTER (WHERE slot BETWEEN ?3 AND ?4), 0) AS soonest,
               COALESCE(MIN(MAX(expires_ms, MAX(hwm_ms, 0) - ?7)) FILTER (WHERE slot BETWEEN ?3 AND ?4), 0) AS ahead,
               MIN(slot) FILTER (WHERE owner = ?5 AND CASE WHEN ?8 < 0 THEN expires_ms >= {now} + ?6 ELSE slot = ?8 END) AS held
          FROM snowlease_slot WHERE ns = ?1 AND slot >= 0 AND slot < ?2) AS s
  LEFT JOIN snowlease_meta AS m ON m.ns = ?1
  LEFT JOIN snowlease_slot AS h ON h.ns = ?1 AND h.slot = s.held;

-- ticket(ns, owner)
INSERT INTO snowlease_ticket (ns, owner) VALUES (?1, ?2) RETURNING id;

-- free(ns, first, last, slot, lead, quarantine)
-- Free slots: first the one that the ticket chooses, unless its mark would raise the
-- floor, then the least recently used.
SELECT slot, token, ver, ticket, hwm_ms, expires_ms
  FROM snowlease_slot
 WHERE ns = ?1 AND slot BETWEEN ?2 AND ?3 AND expires_ms < {now} AND hwm_ms < {now} + ?5
 ORDER BY CASE WHEN slot = ?4 AND hwm_ms <= MAX({now} - 1, ?6) THEN 0 ELSE 1 END, expires_ms, slot
 LIMIT 32;

-- claim(owner, holder, ticket, ttl, ns, slot, ver, lo, hi, pin, quarantine, lead, maxttl, ahead)
UPDATE snowlease_slot
   SET owner = ?1, holder = ?2, ver = ver + 1, ticket = ?3, seen_ms = {now}, since_ms = {now},
       token = MAX(token, {now}) + 1, floor_ms = MAX(hwm_ms, ?11, {now} - 1), expires_ms = {now} + ?4,
       hwm_ms = MAX({now} + ?4, MIN(MAX(hwm_ms, ?11, {now} - 1) + ?4, {now} + ?13))
 WHERE ns = ?5 AND slot = ?6 AND ver = ?7 AND expires_ms < {now} AND hwm_ms < {now} + ?12
   AND {now} BETWEEN ?8 AND ?9
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?5 AND pin = ?10 AND {same} AND quarantine_ms = ?11 AND quarantine_ms < {now} + ?14)
RETURNING seen_ms;

-- forget(ns, ticket, old)
DELETE FROM snowlease_ticket
 WHERE id IN (SELECT id FROM snowlease_ticket WHERE ns = ?1 AND (id = ?2 OR id < ?3) ORDER BY id DESC LIMIT 1000);

-- renew(ceiling, ttl, ns, slot, owner, token, skew, pin, maxttl, floor)
-- Extends a range that lies above everything that may have been forgotten. It reads two
-- rows by their keys, so its cost does not depend on the pool.
UPDATE snowlease_slot
   SET ver = ver + 1, seen_ms = {now}, expires_ms = MAX(expires_ms, {now} + ?2),
       hwm_ms = MAX(hwm_ms, ?1, {now} + ?2, MIN(floor_ms + ?2, {now} + ?9))
 WHERE ns = ?3 AND slot = ?4 AND owner = ?5 AND token = ?6 AND floor_ms = ?10 AND ver < {top} AND expires_ms >= {now} + ?7
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?3 AND pin = ?8 AND {same} AND quarantine_ms <= ?10)
RETURNING seen_ms;

-- swap(ceiling, ttl, ns, slot, owner, ver, skew, pin, maxttl, token, quarantine, ahead)
-- Lends the slot to its holder again, above everything that may have been forgotten.
UPDATE snowlease_slot
   SET ver = ver + 1, seen_ms = {now}, expires_ms = MAX(expires_ms, {now} + ?2),
       token = MAX(token, ?10, {now}) + 1, floor_ms = MAX(hwm_ms, ?11, {now} - 1),
       hwm_ms = MAX(hwm_ms, ?1, {now} + ?2, MIN(MAX(hwm_ms, ?11, {now} - 1) + ?2, {now} + ?9))
 WHERE ns = ?3 AND slot = ?4 AND owner = ?5 AND ver = ?6 AND expires_ms >= {now} + ?7 AND hwm_ms < {now} + ?12
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?3 AND pin = ?8 AND {same} AND quarantine_ms = ?11 AND quarantine_ms < {now} + ?12)
RETURNING seen_ms;

-- release(last, ns, slot, owner, token, pin)
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = {now} - 1, hwm_ms = ?1
 WHERE ns = ?2 AND slot = ?3 AND owner = ?4 AND token = ?5
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?2 AND pin = ?6 AND {same});

-- lost(reason, hold, ns, pin, lo, hi, pool)
-- Starts a quarantine if this server sees the loss too.
UPDATE snowlease_meta
   SET former = CASE WHEN {same} THEN former ELSE incarnation END, reason = ?1,
       quarantine_ms = MAX(quarantine_ms, {now} + ?2),
       incarnation = CASE WHEN {same} THEN incarnation ELSE {incarnation} END
 WHERE ns = ?3 AND pin = ?4 AND {now} BETWEEN ?5 AND ?6
   AND (NOT ({same}) OR (SELECT COUNT(*) FROM snowlease_slot WHERE ns = ?3 AND slot >= 0 AND slot < ?7) < ?7)
RETURNING {now};

-- open(ns, pin, hold, reason, lo, hi)
INSERT INTO snowlease_meta (ns, pin, incarnation, former, quarantine_ms, reason)
SELECT ?1, ?2, {incarnation}, '', CASE WHEN ?3 > 0 THEN {now} + ?3 ELSE 0 END, ?4
 WHERE {now} BETWEEN ?5 AND ?6
ON CONFLICT DO NOTHING
RETURNING {now};

-- fill(ns, pool, pin, hold)
-- Creates the missing slots. Their marks lie above all that may have been forgotten when
-- they are created, unless hold is 0; their tokens and versions above those that were lost.
INSERT INTO snowlease_slot (ns, slot, owner, holder, token, ver, ticket, seen_ms, since_ms, floor_ms, expires_ms, hwm_ms)
  WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < ?2)
SELECT ?1, n, '', '', {now}, {now}, 0, {now}, 0, 0, 0, CASE WHEN ?4 > 0 THEN {now} + ?4 ELSE 0 END FROM numbers
 WHERE EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?1 AND pin = ?3)
ON CONFLICT DO NOTHING;

-- slots(ns, pool)
SELECT slot, token, SUBSTR(holder, 1, 255), since_ms, expires_ms, hwm_ms, {now} FROM snowlease_slot WHERE ns = ?1 AND slot >= 0 AND slot < ?2 ORDER BY slot;
