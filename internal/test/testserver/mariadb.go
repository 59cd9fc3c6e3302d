package testserver

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
)

const mariadbVariable = "SNOWLEASE_TEST_MARIADB_DSN"

var mariadb = engine{
	name: "MariaDB", pkg: "mariadb-server",
	programs: []string{"mariadbd", "mariadb-install-db"},
	create: func(s *Server) error {
		if err := os.WriteFile(filepath.Join(s.dir, "init.sql"), []byte(initSQL), 0o644); err != nil {
			return err
		}
		return s.initialize("mariadb", append([]string{
			mustLookup("mariadb-install-db"), "--no-defaults", "--datadir=" + s.data(), "--skip-test-db",
			"--tmpdir=" + s.dir, // at its start a server removes the temporary tables there
			"--auth-root-authentication-method=normal",
			"--innodb-log-file-size=8M", "--innodb-flush-method=nosync", "--innodb-doublewrite=0",
			"--innodb-use-native-aio=0", "--debug-no-sync",
		}, asRoot(s.engine.runAs)...)...)
	},
	command: func(s *Server) []string {
		argv := []string{
			mustLookup("mariadbd"), "--no-defaults", "--datadir=" + s.data(), "--tmpdir=" + s.dir,
			"--bind-address=127.0.0.1", "--port=" + strconv.Itoa(s.port), "--server-id=" + strconv.Itoa(s.port), "--skip-name-resolve",
			"--socket=" + filepath.Join(s.dir, "socket"), "--pid-file=" + filepath.Join(s.dir, "pid"),
			"--init-file=" + filepath.Join(s.dir, "init.sql"),
			"--max-connections=500", "--performance-schema=OFF",
			"--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M", "--key-buffer-size=1M",
			"--aria-pagecache-buffer-size=8M", "--innodb-temp-data-file-path=ibtmp1:3M:autoextend",
			// Commits reach the kernel at once and are never synced. io_uring is off
			// because it counts against a limit that small machines reach.
			"--innodb-flush-log-at-trx-commit=2", "--innodb-flush-method=nosync",
			"--debug-no-sync", "--innodb-doublewrite=0", "--innodb-use-native-aio=0",
		}
		return append(argv, asRoot(s.engine.runAs)...)
	},
	dsn: func(port int) string {
		return fmt.Sprintf("snowlease:snowlease@tcp(127.0.0.1:%d)/test?parseTime=true", port)
	},
	ping:    pingMySQL,
	version: mysqlVersion,
	stop:    syscall.SIGTERM,
	discard: syscall.SIGKILL,

	replication: &mariadbReplication,
}

// initSQL runs at each start, because the installation script cannot create accounts.
// Replicas run it too.
const initSQL = `SET SESSION sql_log_bin = 0;
CREATE USER IF NOT EXISTS 'snowlease'@'127.0.0.1' IDENTIFIED BY 'snowlease';
GRANT ALL ON *.* TO 'snowlease'@'127.0.0.1' WITH GRANT OPTION;
CREATE DATABASE IF NOT EXISTS test;
`

func asRoot(runAs string) []string {
	if os.Geteuid() == 0 && runAs == "" {
		return []string{"--user=root"}
	}
	return nil
}

var sharedMariaDB = sync.OnceValues(func() (*Server, error) { return start(&mariadb, nil, "") })

// MariaDB returns the DSN of a fresh empty database, in the form of go-sql-driver/mysql
// with parseTime=true. The server is the shared MariaDB, or the one that
// SNOWLEASE_TEST_MARIADB_DSN names. The database is dropped when the test ends.
func MariaDB(t testing.TB) string {
	t.Helper()
	return freshMySQL(t, &mariadb, mariadbVariable, sharedMariaDB)
}

// NewMariaDB starts a MariaDB for this test. Its DSN names the empty database "test";
// the account has all privileges.
func NewMariaDB(t testing.TB, args ...string) *Server {
	t.Helper()
	return newServer(t, &mariadb, args)
}

func pingMySQL(ctx context.Context, s *Server) error {
	cfg, err := mysql.ParseDSN(s.DSN())
	if err != nil {
		return err
	}
	cfg.Logger = &mysql.NopLogger{} // a starting server closes connections
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	return db.PingContext(ctx)
}
