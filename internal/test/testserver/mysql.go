package testserver

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"
)

const mysqlVariable = "SNOWLEASE_TEST_MYSQL_DSN"

var mysqlEngine = engine{
	name: "MySQL", pkg: "mysql-server-core", optional: true,
	programs: []string{"mysqld"},
	create: func(s *Server) error {
		err := os.WriteFile(filepath.Join(s.dir, "init.sql"), []byte(initSQL), 0o644)
		if err != nil {
			return err
		}
		if err := s.initialize("mysql", append(mysqldCommand(s.data(), s.dir), "--initialize-insecure")...); err != nil {
			return err
		}
		return os.Remove(filepath.Join(s.data(), "auto.cnf")) // each server makes a server_uuid of its own
	},
	command: func(s *Server) []string {
		return append(mysqldCommand(s.data(), s.dir),
			"--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.port), "--server-id="+strconv.Itoa(s.port), "--skip-name-resolve",
			"--socket="+filepath.Join(s.dir, "socket"), "--pid-file="+filepath.Join(s.dir, "pid"), "--mysqlx=OFF",
			"--init-file="+filepath.Join(s.dir, "init.sql"),
			"--max-connections=500", "--performance-schema=OFF", "--disable-log-bin",
			// Commits reach the kernel at once and are never synced.
			"--innodb-flush-log-at-trx-commit=2", "--sync-binlog=0",
		)
	},
	dsn:     mariadb.dsn,
	ping:    pingMySQL,
	version: mysqlVersion,
	stop:    syscall.SIGTERM,
	discard: syscall.SIGKILL,

	replication: &mysqlReplication,
}

// mysqldCommand starts a mysqld or creates its data.
func mysqldCommand(data, tmp string) []string {
	mysqld := mustLookup("mysqld")
	argv := []string{
		mysqld, "--no-defaults", "--datadir=" + data, "--tmpdir=" + tmp, "--secure-file-priv=",
		"--innodb-buffer-pool-size=32M", "--innodb-redo-log-capacity=32M",
		"--innodb-flush-method=nosync", "--innodb-doublewrite=OFF", "--innodb-use-native-aio=OFF",
		"--innodb-log-writer-threads=OFF", // they wait by spinning, which takes half of the CPU time of a write
	}
	if root := filepath.Join(filepath.Dir(mysqld), "..", "root", "usr"); isDir(root) { // where an unpacked server has its messages and plugins
		argv = append(argv, "--basedir="+root, "--plugin-dir="+filepath.Join(root, "lib", "mysql", "plugin"))
	}
	if os.Geteuid() == 0 {
		argv = append(argv, "--user=root")
	}
	return argv
}

// templatesVariable names a folder for what processes of one run share.
const templatesVariable = "SNOWLEASE_TEST_TEMPLATES"

var templates = sync.OnceValues(func() (string, error) {
	if shared := os.Getenv(templatesVariable); shared != "" {
		return shared, nil
	}
	dir, err := os.MkdirTemp("", "snowlease-test-")
	state.Lock()
	state.folders = append(state.folders, dir)
	state.Unlock()
	return dir, err
})

var making sync.Mutex

// initialize gives the server the data of a new one, which take seconds to make. The command
// makes them for the first server; the others get a copy.
func (s *Server) initialize(name string, argv ...string) error {
	dir, err := templates()
	if err != nil {
		return err
	}
	made := filepath.Join(dir, name)
	making.Lock()
	defer making.Unlock()
	if isDir(made) {
		script := `cp -a "$0" "$1"`
		if s.engine.runAs != "" && os.Geteuid() == 0 {
			script += ` && chown -R ` + s.engine.runAs + ` "$1"`
		}
		return command("sh", "-c", script, made, s.data())
	}
	if err := s.run(argv...); err != nil {
		return err
	}
	part := fmt.Sprint(made, ".", os.Getpid())
	if err := command("cp", "-a", s.data(), part); err != nil {
		return err
	}
	if err := os.Rename(part, made); err != nil && !isDir(made) { // another process was faster
		return err
	}
	return nil
}

// command runs a program of the machine.
func command(argv ...string) error {
	if out, err := output(argv[0], argv[1:]...); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(argv, " "), err, out)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

var sharedMySQL = sync.OnceValues(func() (*Server, error) { return start(&mysqlEngine, nil, "") })

// MySQL is MariaDB for MySQL: it returns the DSN of a fresh empty database on the shared
// MySQL, or on the server that SNOWLEASE_TEST_MYSQL_DSN names.
func MySQL(t testing.TB) string {
	t.Helper()
	return freshMySQL(t, &mysqlEngine, mysqlVariable, sharedMySQL)
}

// NewMySQL starts a MySQL for this test. Its DSN names the empty database "test"; the
// account has all privileges and authenticates by caching_sha2_password. It writes no
// binary log.
func NewMySQL(t testing.TB, args ...string) *Server {
	t.Helper()
	return newServer(t, &mysqlEngine, args)
}

// NewMySQLPrimary starts a MySQL like NewMySQL that others can follow by GTID.
func NewMySQLPrimary(t testing.TB, args ...string) *Server {
	t.Helper()
	return NewMySQL(t, append([]string{"--log-bin=binlog", "--gtid-mode=ON", "--enforce-gtid-consistency=ON"}, args...)...)
}

// NewMySQLReplica starts a MySQL that follows primary, which NewMySQLPrimary made. The
// replica can be followed itself.
func NewMySQLReplica(t testing.TB, primary *Server, args ...string) *Server {
	t.Helper()
	s := NewMySQLPrimary(t, args...)
	s.Follow(primary)
	return s
}

var mysqlReplication = replication{
	follow: func(ctx context.Context, s, primary *Server) error {
		position := ""
		if err := primary.mysql(ctx, func(db *sql.Conn) error {
			return db.QueryRowContext(ctx, "SELECT @@GLOBAL.gtid_executed").Scan(&position)
		}); err != nil {
			return err
		}
		return s.mysql(ctx, func(db *sql.Conn) error {
			for _, statement := range []string{
				"STOP REPLICA",
				fmt.Sprintf("CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = %d, SOURCE_USER = 'snowlease', "+
					"SOURCE_PASSWORD = 'snowlease', SOURCE_AUTO_POSITION = 1, SOURCE_CONNECT_RETRY = 1, GET_SOURCE_PUBLIC_KEY = 1", primary.port),
				"START REPLICA",
			} {
				if _, err := db.ExecContext(ctx, statement); err != nil {
					return fmt.Errorf("%s: %w", statement, err)
				}
			}
			var late int
			err := db.QueryRowContext(ctx, "SELECT WAIT_FOR_EXECUTED_GTID_SET(?, 60)", position).Scan(&late)
			if err == nil && late != 0 {
				err = errors.New("the replica does not catch up")
			}
			return err
		})
	},
	cut: func(ctx context.Context, s *Server) error {
		return s.mysql(ctx, func(db *sql.Conn) error {
			_, err := db.ExecContext(ctx, "STOP REPLICA")
			return err
		})
	},
	promote: func(ctx context.Context, s *Server) error {
		return s.mysql(ctx, func(db *sql.Conn) error {
			if _, err := db.ExecContext(ctx, "STOP REPLICA"); err != nil {
				return err
			}
			_, err := db.ExecContext(ctx, "RESET REPLICA ALL")
			return err
		})
	},
}

// lookupMySQL finds the mysqld that scripts/engines.sh unpacked, or the machine's, unless
// that is MariaDB under another name.
var lookupMySQL = sync.OnceValues(func() (string, error) {
	if dir, err := unpacked("mysql"); err == nil {
		if path, err := exec.LookPath(filepath.Join(dir, "bin", "mysqld")); err == nil {
			return path, nil
		}
	}
	path, err := installed("mysqld")
	if err != nil {
		return "", err
	}
	version, err := output(path, "--version")
	if err == nil && strings.Contains(string(version), "MariaDB") {
		err = fmt.Errorf("%s is MariaDB", path)
	}
	return path, err
})

// freshMySQL returns the DSN of a database for the test, on the server in the variable or
// the shared one.
func freshMySQL(t testing.TB, e *engine, variable string, server func() (*Server, error)) string {
	t.Helper()
	cfg, err := mysql.ParseDSN(sharedDSN(t, e, variable, server))
	if err != nil {
		t.Fatalf("testserver: %s: %v", variable, err)
	}
	cfg.ParseTime = true
	cfg.DBName = freshName()

	admin := cfg.Clone()
	admin.DBName = ""
	if admin.Params == nil {
		admin.Params = map[string]string{}
	}
	// If a test left a transaction open, let the DROP fail rather than block.
	admin.Params["lock_wait_timeout"] = "10"
	fresh(t, func() (*sql.DB, error) { return sql.Open("mysql", admin.FormatDSN()) },
		"CREATE DATABASE "+cfg.DBName, "DROP DATABASE "+cfg.DBName)
	return cfg.FormatDSN()
}
