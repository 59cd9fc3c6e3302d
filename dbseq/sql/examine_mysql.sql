-- The statements of Center.Examine on MySQL and MariaDB, in the format of mysql.sql.

-- timezone()
SELECT CONCAT(@@global.time_zone, ', session ', @@session.time_zone);

-- replicas()
SELECT COUNT(*) FROM information_schema.processlist WHERE command LIKE 'Binlog Dump%';

-- semisync()
-- MySQL and MariaDB name it differently, and SHOW is what any account may read on both.
SHOW GLOBAL STATUS WHERE Variable_name IN ('Rpl_semi_sync_source_status', 'Rpl_semi_sync_master_status');

-- maycreate()
SELECT (SELECT COUNT(*) FROM information_schema.user_privileges WHERE privilege_type = 'CREATE')
     + (SELECT COUNT(*) FROM information_schema.schema_privileges WHERE privilege_type = 'CREATE' AND DATABASE() LIKE table_schema);

-- engine(table)
SELECT engine FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ? AND engine <> 'InnoDB';

-- cipher()
-- SHOW is what any account may read on MySQL and MariaDB.
SHOW SESSION STATUS LIKE 'Ssl_cipher';

-- client()
SELECT SUBSTRING_INDEX(USER(), '@', -1);
