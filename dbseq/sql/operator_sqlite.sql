-- The statements of lease.Operator on SQLite, in the format of sqlite.sql.

-- namespaces()
SELECT SUBSTR(ns, 1, 65) FROM snowlease_meta ORDER BY ns LIMIT 20;

-- record(ns)
SELECT {now}, SUBSTR(pin, 1, 1025), SUBSTR(incarnation, 1, 512), SUBSTR(former, 1, 512), quarantine_ms, SUBSTR(reason, 1, 2000) FROM snowlease_meta WHERE ns = ?1;

-- quarantine(reason, hold, ns, pin)
UPDATE snowlease_meta SET reason = ?1, quarantine_ms = MAX(quarantine_ms, {now} + ?2) WHERE ns = ?3 AND pin = ?4;

-- revoke(ns, slot, token)
-- The mark stays.
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = MIN(expires_ms, {now} - 1)
 WHERE ns = ?1 AND slot = ?2 AND token = ?3 AND owner <> '' AND {sound};

-- retire(retired, ns, pin)
UPDATE snowlease_meta SET pin = ?1 WHERE ns = ?2 AND pin = ?3;

-- mendquarantine(ns, pin, hold, lo, hi, old)
-- A quarantine that has started since stays.
UPDATE snowlease_meta SET quarantine_ms = {now} + ?3
 WHERE ns = ?1 AND pin = ?2 AND quarantine_ms = ?6 AND quarantine_ms > {now} + ?3 AND {now} BETWEEN ?4 AND ?5;

-- mendleases(ns, pin, hold, lo, hi, pool)
UPDATE snowlease_slot SET ver = ver + 1, expires_ms = {now} + ?3
 WHERE ns = ?1 AND slot >= 0 AND slot < ?6 AND expires_ms > {now} + ?3 AND {now} BETWEEN ?4 AND ?5
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?1 AND pin = ?2);

-- mendmarks(ns, pin, hold, lo, hi, pool)
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = MIN(ver, {now}) + 1, ticket = 0, since_ms = 0, floor_ms = 0,
       token = MIN(token, {now}), hwm_ms = MIN(hwm_ms, {now} + ?3)
 WHERE ns = ?1 AND slot >= 0 AND slot < ?6 AND expires_ms < {now} AND MAX(hwm_ms, token, since_ms, ver) > {now} + ?3 AND {now} BETWEEN ?4 AND ?5
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ?1 AND pin = ?2);

-- repinslots(ns, oldpool)
-- Counts the slots that were never lent, and defeats claims that have read them.
UPDATE snowlease_slot SET ver = ver + 1
 WHERE ns = ?1 AND slot >= 0 AND slot < ?2 AND owner = '' AND since_ms = 0 AND floor_ms = 0 AND expires_ms = 0 AND hwm_ms = 0;

-- repin(pin, ns, old, lo, hi)
UPDATE snowlease_meta SET pin = ?1
 WHERE ns = ?2 AND pin = ?3 AND quarantine_ms = 0 AND {same} AND {now} BETWEEN ?4 AND ?5;

-- repindrop(ns, pool)
DELETE FROM snowlease_slot WHERE ns = ?1 AND slot >= ?2;
