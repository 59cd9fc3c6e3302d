-- The statements of Segments on MySQL and MariaDB, in the format of mysql.sql.

-- reserve(above, above, n, max, above, name, above, max)
-- No column is read after it is set. LAST_INSERT_ID(x) returns x with the reply.
UPDATE snowlease_segment
   SET first_id = LAST_INSERT_ID(GREATEST(max_id, ?) + 1),
       max_id = GREATEST(max_id, ?) + LEAST(?, ? - GREATEST(max_id, ?)), seen_ms = {now}
 WHERE name = ? AND GREATEST(max_id, ?) < ? AND max_id >= 0 AND {now} > 0 {beside};

-- beside(beside, from, to)
-- The rest of a reserve that depends on another name. MySQL refuses the same table in a
-- subquery, and takes a derived one that it cannot merge.
AND EXISTS (SELECT 1 FROM (SELECT MAX(max_id) AS given FROM snowlease_segment WHERE name = ?) b WHERE b.given BETWEEN ? AND ?);

-- given(name)
SELECT {now}, max_id FROM snowlease_segment WHERE name = ?;

-- add(name, start, start)
INSERT IGNORE INTO snowlease_segment (name, first_id, max_id, seen_ms) SELECT ?, ?, ? - 1, {now} FROM (SELECT 1 AS one) AS one WHERE {now} > 0;
