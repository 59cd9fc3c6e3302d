-- The statements of Segments on PostgreSQL, in the format of postgres.sql.

-- reserve(name, n, max, above)
UPDATE snowlease_segment
   SET first_id = GREATEST(max_id, $4::bigint) + 1,
       max_id = GREATEST(max_id, $4::bigint) + LEAST($2::bigint, $3::bigint - GREATEST(max_id, $4::bigint)), seen_ms = {now}
 WHERE name = $1 AND GREATEST(max_id, $4::bigint) < $3::bigint AND max_id >= 0 {beside}
RETURNING first_id;

-- beside(beside, from, to)
-- The rest of a reserve that depends on another name.
AND EXISTS (SELECT 1 FROM snowlease_segment b WHERE b.name = $5 AND b.max_id BETWEEN $6::bigint AND $7::bigint);

-- given(name)
SELECT {now}, max_id FROM snowlease_segment WHERE name = $1;

-- add(name, start)
INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES ($1, $2::bigint, $2::bigint - 1, {now})
ON CONFLICT DO NOTHING;
