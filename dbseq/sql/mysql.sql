-- The statements of dbseq on MySQL and MariaDB. Each begins with its name and its
-- parameters in the order of the question marks.
--
-- {now} is the server's clock in Unix milliseconds, read once per statement. It is NULL if
-- autocommit is off, which makes every condition on it false.
-- {incarnation} is the server that runs the statement.
-- {same} is true if that is the server on record.
--
-- No column is read after it is set: SET evaluates from left to right with the new
-- values, or with the old ones under sql_mode SIMULTANEOUS_ASSIGNMENT.
-- LAST_INSERT_ID(x) returns x with the reply.

-- clock()
SELECT {now};

-- settings()
-- Tells MySQL and MariaDB apart, and has the settings that leases depend on.
SHOW VARIABLES
 WHERE Variable_name IN ('server_uuid', 'autocommit', 'completion_type', 'binlog_format', 'read_only', 'super_read_only', 'innodb_read_only',
                         'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'log_bin', 'sync_binlog', 'transaction_isolation', 'tx_isolation',
                         'wsrep_on', 'wsrep_provider_options', 'group_replication_single_primary_mode', 'group_replication_consistency')
    OR Variable_name LIKE 'rpl_semi_sync_%';

-- incarnation()
SELECT {incarnation};

-- table(table)
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?;

-- look(ns, ns, pool, first, last, first, last, ahead, owner, slot, skew, slot, ns, pool, ns, ns)
-- Reads the namespace and the owner's slot, before every change. If the parameter slot
-- is below 0, that is a slot of the owner that does not expire within the skew.
SELECT {now}, COALESCE({incarnation}, ''),
       m.ns IS NOT NULL, COALESCE(LEFT(m.pin, 1025), ''), COALESCE(LEFT(m.incarnation, 512), ''), COALESCE(LEFT(m.former, 512), ''),
       COALESCE(m.quarantine_ms, 0), COALESCE(LEFT(m.reason, 2000), ''),
       s.known, s.beyond, s.soonest, s.ahead,
       h.slot IS NOT NULL, COALESCE(h.slot, 0), COALESCE(h.token, 0), COALESCE(h.ver, 0), COALESCE(h.ticket, 0),
       COALESCE(h.since_ms, 0), COALESCE(h.floor_ms, 0), COALESCE(h.expires_ms, 0), COALESCE(h.hwm_ms, 0)
  FROM (SELECT COUNT(*) AS known,
               EXISTS (SELECT 1 FROM snowlease_slot WHERE ns = ? AND slot < 0) OR EXISTS (SELECT 1 FROM snowlease_slot WHERE ns = ? AND slot >= ?) AS beyond,
               COALESCE(MIN(CASE WHEN slot BETWEEN ? AND ? THEN GREATEST(expires_ms, hwm_ms) END), 0) AS soonest,
               COALESCE(MIN(CASE WHEN slot BETWEEN ? AND ? THEN GREATEST(expires_ms, GREATEST(hwm_ms, 0) - ?) END), 0) AS ahead,
               MIN(CASE WHEN owner = ? AND CASE WHEN ? < 0 THEN expires_ms >= {now} + ? ELSE slot = ? END THEN slot END) AS held
          FROM snowlease_slot WHERE ns = ? AND slot >= 0 AND slot < ?) AS s
  LEFT JOIN snowlease_meta AS m ON m.ns = ?
  LEFT JOIN snowlease_slot AS h ON h.ns = ? AND h.slot = s.held;

-- ticket(ns, owner)
INSERT INTO snowlease_ticket (ns, owner) VALUES (?, ?);

-- free(ns, first, last, lead, slot, quarantine)
-- Free slots: first the one that the ticket chooses, unless its mark would raise the
-- floor, then the least recently used.
SELECT slot, token, ver, ticket, hwm_ms, expires_ms
  FROM snowlease_slot
 WHERE ns = ? AND slot BETWEEN ? AND ? AND expires_ms < {now} AND hwm_ms < {now} + ?
 ORDER BY CASE WHEN slot = ? AND hwm_ms <= GREATEST({now} - 1, ?) THEN 0 ELSE 1 END, expires_ms, slot
 LIMIT 32;

-- claim(owner, holder, ticket, quarantine, ttl, ttl, quarantine, ttl, maxttl, ns, slot, ver, lead, lo, hi, ns, pin, quarantine, ahead)
UPDATE snowlease_slot
   SET owner = ?, holder = ?, ver = ver + 1, ticket = ?, seen_ms = LAST_INSERT_ID({now}), since_ms = {now},
       token = GREATEST(token, {now}) + 1, floor_ms = GREATEST(hwm_ms, ?, {now} - 1), expires_ms = {now} + ?,
       hwm_ms = GREATEST({now} + ?, LEAST(GREATEST(hwm_ms, ?, {now} - 1) + ?, {now} + ?))
 WHERE ns = ? AND slot = ? AND ver = ? AND expires_ms < {now} AND hwm_ms < {now} + ?
   AND {now} BETWEEN ? AND ?
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ? AND pin = ? AND {same} AND quarantine_ms = ? AND quarantine_ms < {now} + ?);

-- forget(ns, ticket, old)
DELETE FROM snowlease_ticket WHERE ns = ? AND (id = ? OR id < ?) ORDER BY id DESC LIMIT 1000;

-- renew(ceiling, ttl, ttl, maxttl, ttl, ns, slot, owner, token, floor, skew, ns, pin, floor)
-- Extends a range that lies above everything that may have been forgotten. It reads two
-- rows by their keys, so its cost does not depend on the pool.
UPDATE snowlease_slot
   SET ver = ver + 1, seen_ms = LAST_INSERT_ID({now}),
       hwm_ms = GREATEST(hwm_ms, ?, {now} + ?, LEAST(floor_ms + ?, {now} + ?)), expires_ms = GREATEST(expires_ms, {now} + ?)
 WHERE ns = ? AND slot = ? AND owner = ? AND token = ? AND floor_ms = ? AND ver < {top} AND expires_ms >= {now} + ?
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ? AND pin = ? AND {same} AND quarantine_ms <= ?);

-- swap(token, quarantine, ttl, ceiling, ttl, quarantine, ttl, maxttl, ns, slot, owner, ver, skew, ahead, ns, pin, quarantine, ahead)
-- Lends the slot to its holder again, above everything that may have been forgotten.
UPDATE snowlease_slot
   SET ver = ver + 1, seen_ms = LAST_INSERT_ID({now}),
       token = GREATEST(token, ?, {now}) + 1, floor_ms = GREATEST(hwm_ms, ?, {now} - 1), expires_ms = GREATEST(expires_ms, {now} + ?),
       hwm_ms = GREATEST(hwm_ms, ?, {now} + ?, LEAST(GREATEST(hwm_ms, ?, {now} - 1) + ?, {now} + ?))
 WHERE ns = ? AND slot = ? AND owner = ? AND ver = ? AND expires_ms >= {now} + ? AND hwm_ms < {now} + ?
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ? AND pin = ? AND {same} AND quarantine_ms = ? AND quarantine_ms < {now} + ?);

-- release(last, ns, slot, owner, token, ns, pin)
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = {now} - 1, hwm_ms = ?
 WHERE ns = ? AND slot = ? AND owner = ? AND token = ? AND {now} > 0
   AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ? AND pin = ? AND {same});

-- lost(reason, hold, ns, pin, lo, hi, ns, pool, pool)
-- Starts a quarantine if this server sees the loss too.
UPDATE snowlease_meta
   SET former = CASE WHEN {same} THEN former ELSE incarnation END, reason = ?,
       quarantine_ms = GREATEST(quarantine_ms, LAST_INSERT_ID({now}) + ?),
       incarnation = CASE WHEN {same} THEN incarnation ELSE {incarnation} END
 WHERE ns = ? AND pin = ? AND {now} BETWEEN ? AND ?
   AND (NOT ({same}) OR (SELECT COUNT(*) FROM snowlease_slot WHERE ns = ? AND slot >= 0 AND slot < ?) < ?);

-- open(ns, pin, hold, hold, reason, lo, hi)
INSERT IGNORE INTO snowlease_meta (ns, pin, incarnation, former, quarantine_ms, reason)
SELECT ?, ?, {incarnation}, '', CASE WHEN ? > 0 THEN LAST_INSERT_ID({now}) + ? ELSE 0 END, ?
  FROM (SELECT 1 AS one) AS one WHERE {now} BETWEEN ? AND ?;

-- fill(ns, hold, hold, pool, ns, pin)
-- Creates the missing slots. Their marks lie above all that may have been forgotten when
-- they are created, unless hold is 0; their tokens and versions above those that were lost.
-- The numbers below pool are composed of five hexadecimal digits.
INSERT IGNORE INTO snowlease_slot (ns, slot, owner, holder, token, ver, ticket, seen_ms, since_ms, floor_ms, expires_ms, hwm_ms)
SELECT ?, n.slot, '', '', {now}, {now}, 0, {now}, 0, 0, 0, CASE WHEN ? > 0 THEN {now} + ? ELSE 0 END
  FROM (SELECT a.d + b.d + c.d + d.d + e.d AS slot, p.pool
          FROM (SELECT ? AS pool) AS p
          JOIN (SELECT 0 AS d UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL
                SELECT 4 UNION ALL SELECT 5 UNION ALL SELECT 6 UNION ALL SELECT 7 UNION ALL
                SELECT 8 UNION ALL SELECT 9 UNION ALL SELECT 10 UNION ALL SELECT 11 UNION ALL
                SELECT 12 UNION ALL SELECT 13 UNION ALL SELECT 14 UNION ALL SELECT 15) AS a ON a.d < p.pool
          JOIN (SELECT 0 AS d UNION ALL SELECT 16 UNION ALL SELECT 32 UNION ALL SELECT 48 UNION ALL
                SELECT 64 UNION ALL SELECT 80 UNION ALL SELECT 96 UNION ALL SELECT 112 UNION ALL
                SELECT 128 UNION ALL SELECT 144 UNION ALL SELECT 160 UNION ALL SELECT 176 UNION ALL
                SELECT 192 UNION ALL SELECT 208 UNION ALL SELECT 224 UNION ALL SELECT 240) AS b ON b.d < p.pool
          JOIN (SELECT 0 AS d UNION ALL SELECT 256 UNION ALL SELECT 512 UNION ALL SELECT 768 UNION ALL
                SELECT 1024 UNION ALL SELECT 1280 UNION ALL SELECT 1536 UNION ALL SELECT 1792 UNION ALL
                SELECT 2048 UNION ALL SELECT 2304 UNION ALL SELECT 2560 UNION ALL SELECT 2816 UNION ALL
                SELECT 3072 UNION ALL SELECT 3328 UNION ALL SELECT 3584 UNION ALL SELECT 3840) AS c ON c.d < p.pool
          JOIN (SELECT 0 AS d UNION ALL SELECT 4096 UNION ALL SELECT 8192 UNION ALL SELECT 12288 UNION ALL
                SELECT 16384 UNION ALL SELECT 20480 UNION ALL SELECT 24576 UNION ALL SELECT 28672 UNION ALL
                SELECT 32768 UNION ALL SELECT 36864 UNION ALL SELECT 40960 UNION ALL SELECT 45056 UNION ALL
                SELECT 49152 UNION ALL SELECT 53248 UNION ALL SELECT 57344 UNION ALL SELECT 61440) AS d ON d.d < p.pool
          JOIN (SELECT 0 AS d UNION ALL SELECT 65536 UNION ALL SELECT 131072 UNION ALL SELECT 196608 UNION ALL
                SELECT 262144 UNION ALL SELECT 327680 UNION ALL SELECT 393216 UNION ALL SELECT 458752 UNION ALL
                SELECT 524288 UNION ALL SELECT 589824 UNION ALL SELECT 655360 UNION ALL SELECT 720896 UNION ALL
                SELECT 786432 UNION ALL SELECT 851968 UNION ALL SELECT 917504 UNION ALL SELECT 983040) AS e ON e.d < p.pool
       ) AS n
 WHERE n.slot < n.pool AND {now} > 0 AND EXISTS (SELECT 1 FROM snowlease_meta WHERE ns = ? AND pin = ?)
 ORDER BY n.slot;

-- slots(ns, pool)
SELECT slot, token, LEFT(holder, 255), since_ms, expires_ms, hwm_ms, {now} FROM snowlease_slot WHERE ns = ? AND slot >= 0 AND slot < ? ORDER BY slot;
