-- The statements of Center.Examine on PostgreSQL, in the format of postgres.sql.

-- settings()
SELECT name, setting
  FROM pg_settings
 WHERE name IN ('TimeZone', 'default_transaction_read_only', 'synchronous_commit', 'fsync', 'full_page_writes', 'synchronous_standby_names')
 UNION ALL
SELECT 'pg_is_in_recovery', pg_is_in_recovery()::text;

-- replicas()
SELECT COUNT(*) FROM pg_stat_replication;

-- maycreate()
SELECT CASE WHEN has_schema_privilege(current_schema(), 'CREATE') THEN 1 ELSE 0 END;

-- engine(table)
SELECT 'UNLOGGED' FROM pg_class WHERE oid = to_regclass($1) AND relpersistence <> 'p';

-- cipher()
SELECT 'cipher', COALESCE((SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl), '');

-- client()
SELECT COALESCE(host(inet_client_addr()), 'localhost');
