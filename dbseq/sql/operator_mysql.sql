-- The statements of people who look after namespaces, on MySQL and MariaDB, in the form
-- of mysql.sql.

-- record(ns)
SELECT {now}, pin, incarnation, former, quarantine_ms, reason FROM snowlease_meta WHERE ns = ?;

-- quarantine(reason, hold, ns, pin)
UPDATE snowlease_meta SET reason = ?, quarantine_ms = GREATEST(quarantine_ms, {now} + ?) WHERE ns = ? AND pin = ?;

-- revoke(ns, slot, token)
-- The mark stays.
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = LEAST(expires_ms, {now} - 1)
 WHERE ns = ? AND slot = ? AND token = ? AND owner <> '' AND {sound};

-- retire(retired, ns, pin)
UPDATE snowlease_meta SET pin = ? WHERE ns = ? AND pin = ?;
