-- The statements of dbseq on PostgreSQL. Each begins with its name and its parameters
-- in the order of their numbers.
--
-- {now} is the server's clock in Unix milliseconds, read once per statement.
-- {incarnation} is the server that runs the statement.
-- {same} is true if that is the server on record.

-- clock()
SELECT {now};

-- incarnation()
SELECT {incarnation};

-- table(table)
SELECT CASE WHEN to_regclass($1::text) IS NULL THEN 0 ELSE 1 END;

-- look(ns, pool, first, last, owner, skew, ahead, slot)
-- Reads the namespace and the owner's slot, before every change. If the parameter slot
-- is below 0, that is a slot of the owner that does not expire within the skew.
SELECT {now}, COALESCE({incarnation}, ''),
       m.ns IS NOT NULL, COALESCE(LEFT(m.pin, 1025), ''), COALESCE(LEFT(m.incarnation, 512), ''), COALESCE(LEFT(m.former, 512), ''),
       COALESCE(m.quarantine_ms, 0), COALESCE(LEFT(m.reason, 2000), ''),
       s.known, s.beyond, s.soonest, s.ahead,
       h.slot IS NOT NULL, COALESCE(h.slot, 0), COALESCE(h.token, 0), COALESCE(h.ver, 0), COALESCE(h.ticket, 0),
       COALESCE(h.since_ms, 0), COALESCE(h.floor_ms, 0), COALESCE(h.expires_ms, 0), COALESCE(h.hwm_ms, 0)
  FROM (SELECT COUNT(*) AS known,
               EXISTS (SELECT 1 FROM snowlease_slot WHERE ns = $1 AND slot < 0) OR EXISTS (SELECT 1 FROM snowlease_slot WHERE ns = $1 AND slot >= $2::bigint) AS beyond,
               COALESCE(MIN(GREATEST(expires_ms, hwm_ms)) FILTER (WHERE slot BETWEEN $3::bigint AND $4::bigint), 0) AS soonest,
               COALESCE(MIN(GREATEST(expires_ms, GREATEST(hwm_ms, 0) - $7::bigint)) FILTER (WHERE slot BETWEEN $3::bigint AND $4::bigint), 0) AS ahead,
               MIN(slot) FILTER (WHERE owner = $5 AND CASE WHEN $8::bigint < 0 THEN expires_ms >= {now} + $6::bigint ELSE slot = $8::bigint END) AS held
          FROM snowlease_slot WHERE ns = $1 AND slot >= 0 AND slot < $2::bigint) AS s
  LEFT JOIN snowlease_meta AS m ON m.ns = $1
  LEFT JOIN snowlease_slot AS h ON h.ns = $1 AND h.slot = s.held;

-- ticket(ns, owner)
INSERT INTO snowlease_ticket (ns, owner) VALUES ($1, $2) RETURNING id;

-- free(ns, first, last, slot, lead, quarantine)
-- Free slots: first the one that the ticket chooses, unless its mark would raise the
-- floor, then the least recently used.
SELECT slot, token, ver, ticket, hwm_ms, expires_ms
  FROM snowlease_slot
 WHERE ns = $1 AND slot BETWEEN $2 AND $3 AND expires_ms < {now} AND hwm_ms < {now} + $5::bigint
 ORDER BY CASE WHEN slot = $4 AND hwm_ms <= GREATEST({now} - 1, $6::bigint) THEN 0 ELSE 1 END, expires_ms, slot
 LIMIT 32;

-- claim(owner, holder, ticket, ttl, ns, slot, ver, lo, hi, pin, quarantine, lead, maxttl, ahead)
UPDATE snowlease_slot
   SET owner = $1, holder = $2, ver = ver + 1, ticket = $3, seen_ms = {now}, since_ms = {now},
       token = GREATEST(token, {now}) + 1, floor_ms = GREATEST(hwm_ms, $11, {now} - 1), expires_ms = {now} + $4::bigint,
       hwm_ms = GREATEST({now} + $4::bigint, LEAST(GREATEST(hwm_ms, $11, {now} - 1) + $4::bigint, {now} + $13::bigint))
 WHERE ns = $5 AND slot = $6 AND ver = $7 AND expires_ms < {now} AND hwm_ms < {now} + $12::bigint
   AND {now} BETWEEN $8::bigint AND $9::bigint
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = $5 AND pin = $10 AND {same} AND quarantine_ms = $11 AND quarantine_ms < {now} + $14::bigint)
RETURNING seen_ms;

-- forget(ns, ticket, old)
DELETE FROM snowlease_ticket
 WHERE id IN (SELECT id FROM snowlease_ticket WHERE ns = $1 AND (id = $2 OR id < $3) ORDER BY id DESC LIMIT 1000);

-- renew(ceiling, ttl, ns, slot, owner, token, skew, pin, maxttl, floor)
-- Extends a range that lies above everything that may have been forgotten. It reads two
-- rows by their keys, so its cost does not depend on the pool.
UPDATE snowlease_slot
   SET ver = ver + 1, seen_ms = {now}, expires_ms = GREATEST(expires_ms, {now} + $2::bigint),
       hwm_ms = GREATEST(hwm_ms, $1, {now} + $2::bigint, LEAST(floor_ms + $2::bigint, {now} + $9::bigint))
 WHERE ns = $3 AND slot = $4 AND owner = $5 AND token = $6 AND floor_ms = $10 AND ver < {top} AND expires_ms >= {now} + $7::bigint
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = $3 AND pin = $8 AND {same} AND quarantine_ms <= $10)
RETURNING seen_ms;

-- swap(ceiling, ttl, ns, slot, owner, ver, skew, pin, maxttl, token, quarantine, ahead)
-- Lends the slot to its holder again, above everything that may have been forgotten.
UPDATE snowlease_slot
   SET ver = ver + 1, seen_ms = {now}, expires_ms = GREATEST(expires_ms, {now} + $2::bigint),
       token = GREATEST(token, $10, {now}) + 1, floor_ms = GREATEST(hwm_ms, $11, {now} - 1),
       hwm_ms = GREATEST(hwm_ms, $1, {now} + $2::bigint, LEAST(GREATEST(hwm_ms, $11, {now} - 1) + $2::bigint, {now} + $9::bigint))
 WHERE ns = $3 AND slot = $4 AND owner = $5 AND ver = $6 AND expires_ms >= {now} + $7::bigint AND hwm_ms < {now} + $12::bigint
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = $3 AND pin = $8 AND {same} AND quarantine_ms = $11 AND quarantine_ms < {now} + $12::bigint)
RETURNING seen_ms;

-- release(last, ns, slot, owner, token, pin)
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = {now} - 1, hwm_ms = $1
 WHERE ns = $2 AND slot = $3 AND owner = $4 AND token = $5
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = $2 AND pin = $6 AND {same});

-- lost(reason, hold, ns, pin, lo, hi, pool)
-- Starts a quarantine if this server sees the loss too.
UPDATE snowlease_meta
   SET former = CASE WHEN {same} THEN former ELSE incarnation END, reason = $1,
       quarantine_ms = GREATEST(quarantine_ms, {now} + $2::bigint),
       incarnation = CASE WHEN {same} THEN incarnation ELSE {incarnation} END
 WHERE ns = $3 AND pin = $4 AND {now} BETWEEN $5::bigint AND $6::bigint
   AND (NOT ({same}) OR (SELECT COUNT(*) FROM snowlease_slot WHERE ns = $3 AND slot >= 0 AND slot < $7) < $7)
RETURNING {now};

-- open(ns, pin, hold, reason, lo, hi)
INSERT INTO snowlease_meta (ns, pin, incarnation, former, quarantine_ms, reason)
SELECT $1::varchar, $2::varchar, {incarnation}, '', CASE WHEN $3::bigint > 0 THEN {now} + $3::bigint ELSE 0 END, $4::varchar
 WHERE {now} BETWEEN $5::bigint AND $6::bigint
ON CONFLICT DO NOTHING
RETURNING {now};

-- fill(ns, pool, pin, hold)
-- Creates the missing slots. Their marks lie above all that may have been forgotten when
-- they are created, unless hold is 0; their tokens and versions above those that were lost.
INSERT INTO snowlease_slot (ns, slot, owner, holder, token, ver, ticket, seen_ms, since_ms, floor_ms, expires_ms, hwm_ms)
SELECT $1::varchar, n, '', '', {now}, {now}, 0, {now}, 0, 0, 0, CASE WHEN $4::bigint > 0 THEN {now} + $4::bigint ELSE 0 END
  FROM generate_series(0, $2::bigint - 1) AS n
 WHERE EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = $1 AND pin = $3)
 ORDER BY n
ON CONFLICT DO NOTHING;

-- slots(ns, pool)
SELECT slot, token, LEFT(holder, 255), since_ms, expires_ms, hwm_ms, {now} FROM snowlease_slot WHERE ns = $1 AND slot >= 0 AND slot < $2 ORDER BY slot;
