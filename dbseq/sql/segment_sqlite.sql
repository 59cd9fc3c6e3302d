-- The statements of Segments on SQLite, in the format of sqlite.sql.

-- reserve(name, n, max, above)
UPDATE snowlease_segment
   SET first_id = MAX(max_id, ?4) + 1,
       max_id = MAX(max_id, ?4) + MIN(?2, ?3 - MAX(max_id, ?4)), seen_ms = {now}
 WHERE name = ?1 AND MAX(max_id, ?4) < ?3 AND max_id >= 0 {beside}
RETURNING first_id;

-- beside(beside, from, to)
-- The rest of a reserve that depends on another name.
AND EXISTS (SELECT 1 FROM snowlease_segment b WHERE b.name = ?5 AND b.max_id BETWEEN ?6 AND ?7);

-- given(name)
SELECT {now}, max_id FROM snowlease_segment WHERE name = ?1;

-- add(name, start)
INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES (?1, ?2, ?2 - 1, {now})
ON CONFLICT DO NOTHING;
