-- The statements of Segments on MySQL and MariaDB, in the format of mysql.sql.

-- reserve(above, above, n, max, above, name, above, max)
-- No column is read after it is set. LAST_INSERT_ID(x) returns x with the reply.
UPDATE snowlease_segment
   SET first_id = LAST_INSERT_ID(GREATEST(max_id, ?) + 1),
       max_id = GREATEST(max_id, ?) + LEAST(?, ? - GREATEST(max_id, ?)), seen_ms = {now}
 WHERE name = ? AND GREATEST(max_id, ?) < ? AND max_id >= 0;

-- given(name)
SELECT max_id FROM snowlease_segment WHERE name = ?;

-- add(name, start, start)
INSERT IGNORE INTO snowlease_segment (name, first_id, max_id, seen_ms) VALUES (?, ?, ? - 1, {now});
