-- The statements of lease.Operator on MySQL and MariaDB, in the format of mysql.sql.

-- namespaces()
SELECT LEFT(ns, 65) FROM snowlease_meta ORDER BY ns LIMIT 20;

-- record(ns)
SELECT {now}, LEFT(pin, 1025), LEFT(incarnation, 512), LEFT(former, 512), quarantine_ms, LEFT(reason, 2000) FROM snowlease_meta WHERE ns = ?;

-- quarantine(reason, hold, ns, pin)
UPDATE snowlease_meta SET reason = ?, quarantine_ms = GREATEST(quarantine_ms, {now} + ?) WHERE ns = ? AND pin = ? AND {now} > 0;

-- revoke(ns, slot, token)
-- The mark stays.
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = LEAST(expires_ms, {now} - 1)
 WHERE ns = ? AND slot = ? AND token = ? AND owner <> '' AND {now} > 0 AND {sound};

-- retire(retired, ns, pin)
UPDATE snowlease_meta SET pin = ? WHERE ns = ? AND pin = ?;

-- mendquarantine(hold, ns, pin, old, hold, lo, hi)
-- A quarantine that has started since stays.
UPDATE snowlease_meta SET quarantine_ms = {now} + ?
 WHERE ns = ? AND pin = ? AND quarantine_ms = ? AND quarantine_ms > {now} + ? AND {now} BETWEEN ? AND ?;

-- mendleases(hold, ns, pool, hold, lo, hi, ns, pin)
UPDATE snowlease_slot SET ver = ver + 1, expires_ms = {now} + ?
 WHERE ns = ? AND slot >= 0 AND slot < ? AND expires_ms > {now} + ? AND {now} BETWEEN ? AND ?
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ? AND pin = ?);

-- mendmarks(hold, ns, pool, hold, lo, hi, ns, pin)
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = LEAST(ver, {now}) + 1, ticket = 0, since_ms = 0, floor_ms = 0,
       token = LEAST(token, {now}), hwm_ms = LEAST(hwm_ms, {now} + ?)
 WHERE ns = ? AND slot >= 0 AND slot < ? AND expires_ms < {now} AND GREATEST(hwm_ms, token, since_ms, ver) > {now} + ? AND {now} BETWEEN ? AND ?
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ? AND pin = ?);

-- repinslots(ns, oldpool)
-- Counts the slots that were never lent, and defeats claims that have read them.
UPDATE snowlease_slot SET ver = ver + 1
 WHERE ns = ? AND slot >= 0 AND slot < ? AND owner = '' AND since_ms = 0 AND floor_ms = 0 AND expires_ms = 0 AND hwm_ms = 0;

-- repin(pin, ns, old, lo, hi)
UPDATE snowlease_meta SET pin = ?
 WHERE ns = ? AND pin = ? AND quarantine_ms = 0 AND {same} AND {now} BETWEEN ? AND ?;

-- repindrop(ns, pool)
DELETE FROM snowlease_slot WHERE ns = ? AND slot >= ?;
