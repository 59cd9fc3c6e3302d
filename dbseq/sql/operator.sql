-- The statements of lease.Operator, in the format of lease.sql.

-- name: record
SELECT {now}, pin, incarnation, former, quarantine_ms, reason FROM snowlease_meta WHERE ns = :ns;

-- name: quarantine
UPDATE snowlease_meta SET reason = COALESCE(:reason, ''), quarantine_ms = GREATEST(quarantine_ms, {now} + :hold) WHERE ns = :ns AND pin = :pin;

-- name: revoke
-- The mark stays.
UPDATE snowlease_slot
   SET owner = '', holder = '', ver = ver + 1, ticket = 0, seen_ms = {now}, since_ms = 0, floor_ms = 0,
       expires_ms = LEAST(expires_ms, {now} - 1)
 WHERE ns = :ns AND slot = :slot AND token = :token AND since_ms > 0;
