-- What PostgreSQL has of its own, in the format of dbseq/sql/lease.sql.

-- name: table
SELECT COUNT(*) FROM pg_tables WHERE schemaname::text = :schema AND tablename::text = :table;

-- name: home
-- The schema of a table, or else the one that it would be created in, and whether it exists. If own
-- is 1, a search_path that was set since the session began does not count: a pooler may have given
-- the session to another client in between.
WITH path AS (SELECT set_config('search_path', CASE WHEN :own = 1 THEN reset_val ELSE setting END, true) FROM pg_settings WHERE name = 'search_path')
SELECT COALESCE((SELECT nspname FROM pg_namespace JOIN pg_class ON relnamespace = pg_namespace.oid WHERE pg_class.oid = to_regclass(:table)::oid), current_schema())::text,
       CASE WHEN to_regclass(:table) IS NULL THEN 0 ELSE 1 END
  FROM path;

-- name: settings
SELECT name, setting
  FROM pg_settings
 WHERE name IN ('TimeZone', 'default_transaction_read_only', 'synchronous_commit', 'fsync', 'full_page_writes', 'synchronous_standby_names')
 UNION ALL
SELECT 'pg_is_in_recovery', pg_is_in_recovery()::text;

-- name: replicas
SELECT COUNT(*) FROM pg_stat_replication;

-- name: maycreate
SELECT CASE WHEN has_schema_privilege(:schema, 'CREATE') THEN 1 ELSE 0 END;

-- name: engine
SELECT 'UNLOGGED' FROM pg_class JOIN pg_namespace ON relnamespace = pg_namespace.oid WHERE nspname::text = :schema AND relname::text = :table AND relpersistence <> 'p';

-- name: cipher
SELECT 'cipher', COALESCE((SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl), '');

-- name: client
SELECT COALESCE(host(inet_client_addr()), 'localhost');

-- name: others
-- Who else may create in the schema of the tables, but for the owner of the database.
SELECT CASE WHEN grantee = '0'::oid THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)::text) END
  FROM pg_namespace, LATERAL aclexplode(COALESCE(nspacl, acldefault('n'::"char", nspowner)))
 WHERE nspname::text = :schema AND privilege_type = 'CREATE'
   AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE pg_roles.oid = grantee AND (rolsuper OR rolname = current_user OR rolname = 'pg_database_owner'))
   AND NOT EXISTS (SELECT 1 FROM pg_database WHERE datname = current_database() AND datdba = grantee)
 ORDER BY grantee;

-- name: schemas
-- Who else may create a schema with the name of this account, which then comes before that of the tables.
SELECT CASE WHEN grantee = '0'::oid THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)::text) END
  FROM pg_database, LATERAL aclexplode(COALESCE(datacl, acldefault('d'::"char", datdba)))
 WHERE datname = current_database() AND privilege_type = 'CREATE' AND grantee <> datdba
   AND current_setting('search_path') LIKE '%$user%' AND :schema <> current_user::text
   AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE pg_roles.oid = grantee AND (rolsuper OR rolname = current_user))
 ORDER BY grantee;
