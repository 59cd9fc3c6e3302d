-- What PostgreSQL has of its own, in the format of lease.sql.

-- name: table
SELECT {now}, CASE WHEN to_regclass(:table) IS NULL THEN 0 ELSE 1 END;

-- name: home
SELECT {home};

-- name: path
-- Whether search_path was set since the session began.
SELECT COUNT(*) FROM pg_settings WHERE name = 'search_path' AND setting <> reset_val;

-- name: settings
SELECT name, setting
  FROM pg_settings
 WHERE name IN ('TimeZone', 'default_transaction_read_only', 'synchronous_commit', 'fsync', 'full_page_writes', 'synchronous_standby_names')
 UNION ALL
SELECT 'pg_is_in_recovery', pg_is_in_recovery()::text;

-- name: replicas
SELECT COUNT(*) FROM pg_stat_replication;

-- name: maycreate
SELECT CASE WHEN has_schema_privilege(current_schema()::text, 'CREATE') THEN 1 ELSE 0 END;

-- name: engine
SELECT 'UNLOGGED' FROM pg_class WHERE oid = to_regclass(:table)::oid AND relpersistence <> 'p';

-- name: cipher
SELECT 'cipher', COALESCE((SELECT cipher FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND ssl), '');

-- name: client
SELECT COALESCE(host(inet_client_addr()), 'localhost');

-- name: others
-- Who else may create in the schema of the tables, but for the owner of the database.
SELECT CASE WHEN grantee = '0'::oid THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)::text) END
  FROM pg_namespace, LATERAL aclexplode(COALESCE(nspacl, acldefault('n'::"char", nspowner)))
 WHERE nspname = current_schema() AND privilege_type = 'CREATE'
   AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE pg_roles.oid = grantee AND (rolsuper OR rolname = current_user OR rolname = 'pg_database_owner'))
   AND NOT EXISTS (SELECT 1 FROM pg_database WHERE datname = current_database() AND datdba = grantee)
 ORDER BY grantee;

-- name: schemas
-- Who else may create a schema with the name of this account, which then comes before that of the tables.
SELECT CASE WHEN grantee = '0'::oid THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)::text) END
  FROM pg_database, LATERAL aclexplode(COALESCE(datacl, acldefault('d'::"char", datdba)))
 WHERE datname = current_database() AND privilege_type = 'CREATE' AND grantee <> datdba
   AND current_setting('search_path') LIKE '%$user%' AND current_schema() <> current_user
   AND NOT EXISTS (SELECT 1 FROM pg_roles WHERE pg_roles.oid = grantee AND (rolsuper OR rolname = current_user))
 ORDER BY grantee;
