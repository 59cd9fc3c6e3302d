-- What SQLite has of its own, in the format of lease.sql.

-- name: table
SELECT {now}, COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = :table;

-- name: file
-- The file of the database, empty if it is in memory.
SELECT file FROM pragma_database_list WHERE name = 'main';

-- name: journal
PRAGMA journal_mode;

-- name: probe
CREATE TABLE IF NOT EXISTS snowlease_probe (n INTEGER);

-- name: mark
INSERT INTO snowlease_probe (n) VALUES (:n);

-- name: marked
SELECT COUNT(*) FROM snowlease_probe WHERE n = :n;

-- name: settings
SELECT 'file', COALESCE(file, '') FROM pragma_database_list WHERE name = 'main'
 UNION ALL
SELECT 'synchronous', synchronous FROM pragma_synchronous
 UNION ALL
SELECT 'journal_mode', journal_mode FROM pragma_journal_mode;

-- name: maycreate
SELECT 1 - query_only FROM pragma_query_only;
