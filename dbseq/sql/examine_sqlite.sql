-- The statements of Center.Examine on SQLite, in the format of sqlite.sql.

-- settings()
SELECT 'file', COALESCE(file, '') FROM pragma_database_list WHERE name = 'main'
 UNION ALL
SELECT 'synchronous', synchronous FROM pragma_synchronous
 UNION ALL
SELECT 'journal_mode', journal_mode FROM pragma_journal_mode;

-- maycreate()
SELECT 1 - query_only FROM pragma_query_only;
