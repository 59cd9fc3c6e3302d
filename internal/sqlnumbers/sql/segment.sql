-- The statements of a Store, in the format of dbseq/sql/lease.sql.

-- name: reserve
UPDATE snowlease_segment
   SET first_id = REPLY(GREATEST(max_id, :above) + 1),
       max_id = GREATEST(max_id, :above) + LEAST(:n, :max - GREATEST(max_id, :above)), seen_ms = {now}
 WHERE name = :name AND GREATEST(max_id, :above) < :max AND max_id >= 0 AND {now} BETWEEN :notbefore AND :notafter
RETURNING first_id;

-- name: reserve_beside
-- Depends on another name too. MySQL refuses the same table in a subquery, and takes a derived one
-- that it cannot merge.
UPDATE snowlease_segment
   SET first_id = REPLY(GREATEST(max_id, :above) + 1),
       max_id = GREATEST(max_id, :above) + LEAST(:n, :max - GREATEST(max_id, :above)), seen_ms = {now}
 WHERE name = :name AND GREATEST(max_id, :above) < :max AND max_id >= 0 AND {now} BETWEEN :notbefore AND :notafter
   AND EXISTS (SELECT 1 FROM (SELECT MAX(max_id) AS given FROM snowlease_segment WHERE name = :beside) AS b WHERE b.given BETWEEN :from AND :to)
RETURNING first_id;

-- name: given
SELECT {now}, max_id FROM snowlease_segment WHERE name = :name;

-- name: names
SELECT name, max_id FROM snowlease_segment
 WHERE name >= :name AND name < :below ORDER BY name LIMIT 1000;

-- name: family
SELECT COUNT(*) FROM snowlease_segment WHERE name >= :name AND name < :below;

-- name: add
INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms)
VALUES (:name, :start, :start - 1, {now})
ON CONFLICT DO NOTHING;
