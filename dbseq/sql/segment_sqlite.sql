-- The statements of Segments on SQLite, in the format of sqlite.sql.

-- reserve(name, n, max, above)
UPDATE snowlease_segment
   SET first_id = MAX(max_id, ?4) + 1,
       max_id = MAX(max_id, ?4) + MIN(?2, ?3 - MAX(max_id, ?4)), seen_ms = {now}
 WHERE name = ?1 AND MAX(max_id, ?4) < ?3 AND max_id >= 0
RETURNING first_id;

-- given(name)
SELECT max_id FROM snowlease_segment WHERE name = ?1;

-- add(name, start)
INSERT INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES (?1, ?2, ?2 - 1, {now})
ON CONFLICT DO NOTHING;
