-- The statements of a center, for all engines: :name is a parameter, REPLY(x) is x, which the
-- reply has, and what an engine writes otherwise stands in its own file, or in the field write of
-- its dialect. The names of tables are qualified with their schema when the statements are loaded.
--
-- {now} is the server's clock in Unix milliseconds, read once per statement.
-- {incarnation} is the server that runs the statement.
-- {same} is true if that is the server on record.
--
-- An empty parameter is NULL on a MariaDB with sql_mode EMPTY_STRING_IS_NULL.
--
-- No column is read after it is set: SET of MySQL evaluates from left to right with the new
-- values, or with the old ones under sql_mode SIMULTANEOUS_ASSIGNMENT.

-- name: look
-- Reads the namespace and the owner's slot, before every change. If the parameter slot
-- is below 0, that is a slot of the owner that does not expire within the skew, or one that
-- it has given back.
SELECT {now}, COALESCE({incarnation}, ''),
       m.ns IS NOT NULL, COALESCE(m.pin, ''), COALESCE(m.incarnation, ''), COALESCE(m.former, ''),
       COALESCE(m.quarantine_ms, 0), COALESCE(m.reason, ''),
       s.known, s.soonest, s.ahead, s.inuse, s.hold,
       h.slot IS NOT NULL, COALESCE(h.slot, 0), COALESCE(h.token, 0), COALESCE(h.ver, 0), COALESCE(h.ticket, 0),
       COALESCE(h.since_ms, 0), COALESCE(h.floor_ms, 0), COALESCE(h.expires_ms, 0), COALESCE(h.hwm_ms, 0)
  FROM (SELECT COUNT(*) AS known,
               COALESCE(MIN(CASE WHEN slot BETWEEN :first AND :last THEN GREATEST(expires_ms, hwm_ms) END), 0) AS soonest,
               COALESCE(MIN(CASE WHEN slot BETWEEN :first AND :last THEN GREATEST(expires_ms, hwm_ms - :ahead) END), 0) AS ahead,
               COALESCE(MAX(used_ms), 0) AS inuse,
               COALESCE(MAX(hold_ms), 0) AS hold,
               MIN(CASE WHEN owner = :owner AND CASE WHEN :slot < 0 THEN expires_ms >= {now} + :skew ELSE slot = :slot END
                          OR owner = :spent AND :slot < 0 THEN slot END) AS held
          FROM snowlease_slot WHERE ns = :ns AND slot >= 0 AND slot < :pool) AS s
  LEFT JOIN snowlease_meta AS m ON m.ns = :ns
  LEFT JOIN snowlease_slot AS h ON h.ns = :ns AND h.slot = s.held;

-- name: ticket
INSERT INTO snowlease_ticket (ns, owner) VALUES (:ns, :owner)
RETURNING id;

-- name: free
-- Free slots: first the one that the ticket chooses, unless its mark would raise the
-- floor, then the least recently used.
SELECT {now}, slot, token, ver, ticket, hwm_ms, expires_ms
  FROM snowlease_slot
 WHERE ns = :ns AND slot BETWEEN :first AND :last AND expires_ms < {now} AND hwm_ms < {now} + :lead
 ORDER BY CASE WHEN slot = :slot AND hwm_ms <= GREATEST({now} - 1, :quarantine) THEN 0 ELSE 1 END, expires_ms, slot
 LIMIT 32;

-- name: lend
-- Writes what the rules have decided from what was read, if nothing of that has changed since,
-- and the clock has neither stepped back nor come too far.
UPDATE snowlease_slot
   SET owner = :owner, holder = COALESCE(:holder, ''), ver = ver + 1, ticket = :ticket, seen_ms = {now}, since_ms = :since,
       token = :token, floor_ms = :floor, expires_ms = :expires, hwm_ms = :mark
 WHERE ns = :ns AND slot = :slot AND ver = :ver AND expires_ms = :wasexpires AND hwm_ms = :wasmark
   AND {now} BETWEEN :lo AND :hi
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :pin AND {same} AND quarantine_ms = :quarantine);

-- name: forget
DELETE FROM snowlease_ticket
 WHERE id IN (SELECT id FROM snowlease_ticket WHERE ns = :ns AND (id = :ticket OR id < :old) ORDER BY id DESC LIMIT 1000);

-- name: renew
-- Extends a range that lies above everything that may have been forgotten. It reads two
-- rows by their keys, so its cost does not depend on the pool.
UPDATE snowlease_slot
   SET ver = ver + 1, seen_ms = REPLY({now}), expires_ms = GREATEST(expires_ms, {now} + :ttl),
       hwm_ms = GREATEST(hwm_ms, :ceiling, {now} + :ttl, LEAST(floor_ms + :ttl, {now} + :maxttl))
 WHERE ns = :ns AND slot = :slot AND owner = :owner AND token = :token AND floor_ms = :floor AND expires_ms >= {now} + :skew
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :pin AND {same} AND quarantine_ms <= :floor)
RETURNING seen_ms;

-- name: release
UPDATE snowlease_slot
   SET owner = :spent, holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = {now} - 1, hwm_ms = :used
 WHERE ns = :ns AND slot = :slot AND owner = :owner AND token = :token
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :pin AND {same});

-- name: lost
-- Starts a quarantine if this server sees the loss too.
UPDATE snowlease_meta
   SET former = CASE WHEN {same} THEN former ELSE incarnation END, reason = :reason,
       quarantine_ms = GREATEST(quarantine_ms, REPLY({now}) + :hold),
       incarnation = CASE WHEN {same} THEN incarnation ELSE {incarnation} END
 WHERE ns = :ns AND pin = :pin AND {now} BETWEEN :lo AND :hi
   AND (NOT ({same}) OR (SELECT COUNT(*) FROM snowlease_slot WHERE ns = :ns AND slot >= 0 AND slot < :pool) < :pool)
RETURNING {now};

-- name: open
INSERT INTO snowlease_meta (ns, pin, incarnation, former, quarantine_ms, reason)
SELECT :ns, :pin, {incarnation}, '', CASE WHEN :hold > 0 THEN REPLY({now}) + :hold ELSE 0 END, COALESCE(:reason, '')
  FROM (SELECT 1 AS one) AS one WHERE {now} BETWEEN :lo AND :hi
ON CONFLICT DO NOTHING
RETURNING {now};

-- name: fill
-- Creates the missing slots. Their marks lie above all that may have been forgotten when
-- they are created, unless hold is 0; their tokens and versions above those that were lost.
INSERT INTO snowlease_slot (ns, slot, owner, holder, token, ver, ticket, seen_ms, since_ms, floor_ms, expires_ms, hwm_ms, hold_ms, used_ms)
SELECT :ns, numbers.n, '', '', {now}, {now}, 0, {now}, 0, 0, 0, CASE WHEN :hold > 0 THEN {now} + :hold ELSE 0 END, :kept, :inuse
  FROM ({numbers}) AS numbers
 WHERE numbers.n < :pool AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :pin)
 ORDER BY numbers.n
ON CONFLICT DO NOTHING;

-- name: carry
-- Has the slots show the pin, so that a loss of the namespace's row allows for it.
UPDATE snowlease_slot SET hold_ms = :kept, used_ms = :inuse
 WHERE ns = :ns AND slot BETWEEN :from AND :to AND (hold_ms <> :kept OR used_ms <> :inuse) AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :pin);

-- name: repin
-- Replaces the pin, by the latest clock that the new one counts from. Where the end of a change is
-- decided or comes, only the server on record does: another one may lack what the slots showed.
UPDATE snowlease_meta SET pin = :newpin WHERE ns = :ns AND pin = :pin AND {now} <= :until AND (:anywhere = 1 OR {same});

-- name: slots
SELECT slot, token, floor_ms, holder, since_ms, expires_ms, hwm_ms, {now} FROM snowlease_slot WHERE ns = :ns AND slot >= 0 AND slot < :pool ORDER BY slot LIMIT :pool;
