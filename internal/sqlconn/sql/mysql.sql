-- What MySQL and MariaDB have of their own, in the format of dbseq/sql/lease.sql.

-- name: table
SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = :schema AND table_name = :table;

-- name: home
SELECT DATABASE(), 0;

-- name: forget
-- A subquery may not read the table.
DELETE FROM snowlease_ticket WHERE ns = :ns AND (id = :ticket OR id < :old) ORDER BY id DESC LIMIT 1000;

-- name: settings
-- Tells MySQL and MariaDB apart, and has the settings that leases depend on.
SHOW VARIABLES
 WHERE Variable_name IN ('server_uuid', 'server_uid', 'binlog_format', 'read_only', 'super_read_only', 'innodb_read_only',
                         'innodb_flush_log_at_trx_commit', 'innodb_flush_method', 'log_bin', 'sync_binlog', 'time_zone', 'transaction_isolation', 'tx_isolation',
                         'wsrep_on', 'wsrep_provider_options', 'group_replication_single_primary_mode', 'group_replication_consistency')
    OR Variable_name LIKE 'rpl_semi_sync_%';

-- name: demotions
-- How often the server has begun to follow another, or has joined a group. MariaDB and the versions of
-- MySQL name it differently, and MySQL shows it in no table that any account may read. MariaDB 11.5 and
-- later have FLUSH GLOBAL STATUS, which sets it back and is replicated, so the time of the last one
-- counts, too. On Galera, each change of the members counts; the values left out are of a server that has none.
SHOW GLOBAL STATUS
 WHERE Variable_name IN ('Com_start_slave', 'Com_start_all_slaves', 'Com_slave_start', 'Com_replica_start', 'Com_group_replication_start', 'wsrep_cluster_conf_id'
                         /*M!110500 , 'Uptime', 'Uptime_since_flush_status' */)
   AND Value NOT IN ('-1', '18446744073709551615');

-- name: replicas
SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%';

-- name: semisync
-- MySQL and MariaDB name it differently, and SHOW is what any account may read on both.
SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_source_status', 'Rpl_semi_sync_master_status');

-- name: maycreate
SELECT (SELECT COUNT(*) FROM information_schema.user_privileges WHERE privilege_type = 'CREATE')
     + (SELECT COUNT(*) FROM information_schema.schema_privileges WHERE privilege_type = 'CREATE' AND :schema LIKE table_schema);

-- name: engine
SELECT engine FROM information_schema.tables WHERE table_schema = :schema AND table_name = :table AND engine <> 'InnoDB';

-- name: cipher
-- SHOW is what any account may read on MySQL and MariaDB.
SHOW SESSION STATUS LIKE 'Ssl_cipher';

-- name: client
SELECT SUBSTRING_INDEX(USER(), '@', -1);
