-- The statements of lease.Operator on PostgreSQL, in the format of postgres.sql.

-- namespaces()
SELECT LEFT(ns, 65) FROM snowlease_meta ORDER BY ns LIMIT 20;

-- record(ns)
SELECT {now}, LEFT(pin, 1025), LEFT(incarnation, 512), LEFT(former, 512), quarantine_ms, LEFT(reason, 2000) FROM snowlease_meta WHERE ns = $1;

-- quarantine(reason, hold, ns, pin)
UPDATE snowlease_meta SET reason = $1, quarantine_ms = GREATEST(quarantine_ms, {now} + $2::bigint) WHERE ns = $3 AND pin = $4;

-- revoke(ns, slot, token)
-- The mark stays.
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = LEAST(expires_ms, {now} - 1)
 WHERE ns = $1 AND slot = $2 AND token = $3 AND owner <> '' AND {sound};

-- retire(retired, ns, pin)
UPDATE snowlease_meta SET pin = $1 WHERE ns = $2 AND pin = $3;

-- mendquarantine(ns, pin, hold, lo, hi, old)
-- A quarantine that has started since stays.
UPDATE snowlease_meta SET quarantine_ms = {now} + $3::bigint
 WHERE ns = $1 AND pin = $2 AND quarantine_ms = $6 AND quarantine_ms > {now} + $3::bigint AND {now} BETWEEN $4::bigint AND $5::bigint;

-- mendleases(ns, pin, hold, lo, hi, pool)
UPDATE snowlease_slot SET ver = ver + 1, expires_ms = {now} + $3::bigint
 WHERE ns = $1 AND slot >= 0 AND slot < $6::bigint AND expires_ms > {now} + $3::bigint AND {now} BETWEEN $4::bigint AND $5::bigint
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = $1 AND pin = $2);

-- mendmarks(ns, pin, hold, lo, hi, pool)
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = LEAST(ver, {now}) + 1, ticket = 0, since_ms = 0, floor_ms = 0,
       token = LEAST(token, {now}), hwm_ms = LEAST(hwm_ms, {now} + $3::bigint)
 WHERE ns = $1 AND slot >= 0 AND slot < $6::bigint AND expires_ms < {now} AND GREATEST(hwm_ms, token, since_ms, ver) > {now} + $3::bigint AND {now} BETWEEN $4::bigint AND $5::bigint
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = $1 AND pin = $2);

-- repinslots(ns, oldpool)
-- Counts the slots that were never lent, and defeats claims that have read them.
UPDATE snowlease_slot SET ver = ver + 1
 WHERE ns = $1 AND slot >= 0 AND slot < $2 AND owner = '' AND since_ms = 0 AND floor_ms = 0 AND expires_ms = 0 AND hwm_ms = 0;

-- repin(pin, ns, old, lo, hi)
UPDATE snowlease_meta SET pin = $1
 WHERE ns = $2 AND pin = $3 AND quarantine_ms = 0 AND {same} AND {now} BETWEEN $4::bigint AND $5::bigint;

-- repindrop(ns, pool)
DELETE FROM snowlease_slot WHERE ns = $1 AND slot >= $2;
