-- The statements of a center, for all engines: :name is a parameter, REPLY(x) is x, which the
-- reply has, and what an engine writes otherwise stands in its own file, or in the field write of
-- its dialect. The names of tables are qualified with their schema when the statements are loaded.
--
-- {now} is the server's clock in Unix milliseconds, read once per statement.
-- {incarnation} is the server that runs the statement.
-- {same} is true if that is the server on record, and {answered} if it is the parameter server, which
-- answered the look.
--
-- An empty parameter is NULL on a MariaDB with sql_mode EMPTY_STRING_IS_NULL.
--
-- No column is read after it is set: SET of MySQL evaluates from left to right with the new
-- values, or with the old ones under sql_mode SIMULTANEOUS_ASSIGNMENT.

-- name: look
-- Reads the namespace and the owner's slot, before every change. If the parameter slot
-- is below 0, that is a slot of the owner that does not expire within the skew, or one that
-- it has given back.
SELECT COALESCE({incarnation}, ''),
       m.ns IS NOT NULL, CASE WHEN {same} THEN 1 = 1 ELSE 1 = 0 END, COALESCE(m.pin, ''), COALESCE(m.incarnation, ''), COALESCE(m.former, ''),
       COALESCE(m.quarantine_ms, 0), COALESCE(m.reason, ''),
       s.known, s.soonest, s.ahead, s.greatest, s.least, s.inuse, s.shape,
       h.slot IS NOT NULL, {now}, COALESCE(h.slot, 0), COALESCE(h.owner, ''), COALESCE(h.holder, ''), COALESCE(h.token, 0), COALESCE(h.ver, 0),
       COALESCE(h.ticket, 0), COALESCE(h.since_ms, 0), COALESCE(h.floor_ms, 0), COALESCE(h.expires_ms, 0), COALESCE(h.hwm_ms, 0), COALESCE(h.hold_ms, 0), COALESCE(h.used_ms, 0)
  FROM (SELECT COUNT(*) AS known,
               COALESCE(MIN(CASE WHEN slot BETWEEN :first AND :last THEN GREATEST(expires_ms, hwm_ms) END), 0) AS soonest,
               COALESCE(MIN(CASE WHEN slot BETWEEN :first AND :last THEN GREATEST(expires_ms, hwm_ms - :ahead) END), 0) AS ahead,
               COALESCE(MAX(hold_ms), 0) AS greatest, COALESCE(MIN(hold_ms), 0) AS least, COALESCE(MAX(used_ms), 0) AS inuse,
               COALESCE(MAX(shape), '') AS shape,
               MIN(CASE WHEN slot = :slot OR owner = :owner AND expires_ms >= {now} + :skew OR owner = :spent THEN slot END) AS held
          FROM snowlease_slot WHERE ns = :ns AND slot >= 0 AND slot < :pool) AS s
  LEFT JOIN snowlease_meta AS m ON m.ns = :ns
  LEFT JOIN snowlease_slot AS h ON h.ns = :ns AND h.slot = s.held;

-- name: ticket
INSERT INTO snowlease_ticket (ns, owner) VALUES (:ns, :owner)
RETURNING id;

-- name: free
-- Free slots: first the one that the ticket chooses, unless its mark would raise the
-- floor, then the least recently used.
SELECT 1 = 1, {now}, slot, owner, holder, token, ver, ticket, since_ms, floor_ms, expires_ms, hwm_ms, hold_ms, used_ms
  FROM snowlease_slot
 WHERE ns = :ns AND slot BETWEEN :first AND :last AND expires_ms < {now} AND hwm_ms < {now} + :lead
 ORDER BY CASE WHEN slot = :slot AND hwm_ms <= GREATEST({now} - 1, :quarantine) THEN 0 ELSE 1 END, expires_ms, slot
 LIMIT :most;

-- name: put
-- Writes what the rules have decided from what was read, if nothing of that has changed since, and
-- the clock has neither stepped back nor come too far.
UPDATE snowlease_slot
   SET owner = COALESCE(:owner, ''), holder = COALESCE(:holder, ''), ver = ver + 1, ticket = :ticket, seen_ms = {now}, since_ms = :since,
       token = :token, floor_ms = :floor, expires_ms = :expires, hwm_ms = :mark, hold_ms = :kept, used_ms = :inuse
 WHERE ns = :ns AND slot = :slot AND ver = :ver AND token = :wastoken AND expires_ms = :wasexpires AND hwm_ms = :wasmark
   AND hold_ms = :washold AND used_ms = :wasused
   AND {now} BETWEEN :lo AND :hi AND {answered}
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :newpin AND incarnation = COALESCE(:incarnation, '') AND quarantine_ms = :quarantine);

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

-- name: open
-- Creates the record of the namespace. A quarantine counts from the clock of this statement, so it
-- covers what others have lent and lost since the look, by what the slots have shown since.
INSERT INTO snowlease_meta (ns, pin, incarnation, former, quarantine_ms, reason)
SELECT :ns, :newpin, COALESCE(:incarnation, ''), '', CASE WHEN :hold > 0 THEN REPLY({now}) + :hold ELSE 0 END, COALESCE(:reason, '')
  FROM (SELECT COUNT(CASE WHEN slot < :pool THEN slot END) AS known, COALESCE(MAX(hold_ms), 0) AS greatest, COALESCE(MAX(used_ms), 0) AS inuse,
               COALESCE(MAX(shape), '') AS shape
          FROM snowlease_slot WHERE ns = :ns AND slot >= 0) AS s
 WHERE {now} BETWEEN :lo AND :hi AND {answered}
   AND (:hold = 0 OR s.known = :known AND s.greatest = :greatest AND s.inuse = :shown AND s.shape = COALESCE(:seen, ''))
ON CONFLICT DO NOTHING
RETURNING {now};

-- name: meta
-- Replaces the record of the namespace. If that begins a quarantine, it counts from the clock of this
-- statement, and as many slots are missing as at the look, which may have been at a replica that lags.
UPDATE snowlease_meta SET pin = :newpin, incarnation = COALESCE(:incarnation, ''), former = COALESCE(:former, ''), reason = COALESCE(:reason, ''),
       quarantine_ms = CASE WHEN :hold > 0 THEN GREATEST(:until, REPLY({now}) + :hold) ELSE :until END
 WHERE ns = :ns AND pin = :pin AND incarnation = COALESCE(:recorded, '') AND quarantine_ms = :quarantine AND {now} BETWEEN :lo AND :hi AND {answered}
   AND (:known = :pool OR (SELECT COUNT(*) FROM snowlease_slot WHERE ns = :ns AND slot >= 0 AND slot < :pool) = :known)
RETURNING {now};

-- name: fill
-- Creates the missing slots. Their marks lie above all that may have been forgotten when they are
-- created, unless hold is 0; their tokens and versions above those that were lost.
INSERT INTO snowlease_slot (ns, slot, owner, holder, token, ver, ticket, seen_ms, since_ms, floor_ms, expires_ms, hwm_ms, hold_ms, used_ms, shape)
SELECT :ns, numbers.n, '', '', {now}, {now}, 0, {now}, 0, 0, 0, CASE WHEN :hold > 0 THEN {now} + :hold ELSE 0 END, :kept, :inuse, :shape
  FROM ({numbers}) AS numbers
 WHERE numbers.n < :pool AND {answered} AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :newpin)
 ORDER BY numbers.n
ON CONFLICT DO NOTHING;

-- name: raise
UPDATE snowlease_meta SET quarantine_ms = GREATEST(quarantine_ms, REPLY({now}) + :hold)
 WHERE ns = :ns AND pin = :newpin
RETURNING {now};

-- name: carry
-- Has the slots show the pin, so that a loss of the namespace's row allows for it.
UPDATE snowlease_slot SET hold_ms = :kept, used_ms = :inuse
 WHERE ns = :ns AND slot BETWEEN :from AND :to AND (hold_ms <> :kept OR used_ms <> :inuse) AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = :ns AND pin = :newpin);

-- name: retire
-- Has the slots show the end of the namespace, as its row does. The version refuses a borrow that
-- waits for a slot: PostgreSQL then still sees the row of the namespace as it was.
UPDATE snowlease_slot SET shape = :newpin, ver = ver + 1 WHERE ns = :ns;

-- name: slots
SELECT 1 = 1, {now}, slot, owner, holder, token, ver, ticket, since_ms, floor_ms, expires_ms, hwm_ms, hold_ms, used_ms
  FROM snowlease_slot WHERE ns = :ns AND slot >= 0 AND slot < :pool ORDER BY slot LIMIT :pool;
