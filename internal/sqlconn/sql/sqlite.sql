-- What SQLite has of its own, in the format of dbseq/sql/lease.sql.

-- name: table
SELECT COUNT(*) FROM main.sqlite_master WHERE type = 'table' AND name = :table;

-- name: home
SELECT 'main', 0;

-- name: settings
-- The file is empty if the database is in memory.
SELECT 'file', COALESCE(file, '') FROM pragma_database_list WHERE name = 'main'
 UNION ALL
SELECT 'synchronous', synchronous FROM pragma_synchronous
 UNION ALL
SELECT 'journal_mode', journal_mode FROM pragma_journal_mode;

-- name: maycreate
SELECT 1 - query_only FROM pragma_query_only;
