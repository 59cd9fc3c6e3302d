// Package testserver gives a test its own database on a real MariaDB, PostgreSQL or
// Redis, and real servers to kill, pause, restart, wipe, and whose clocks to step.
//
//	func TestMain(m *testing.M) { testserver.Main(m) }
//
//	func TestOrders(t *testing.T) {
//		db, err := sql.Open("mysql", testserver.MySQL(t)) // an empty database
//		...
//	}
//
//	func TestCrash(t *testing.T) {
//		srv := testserver.NewRedis(t, "--appendonly", "yes", "--appendfsync", "always")
//		srv.Kill()
//		srv.Start() // same address, same data
//	}
//
// It is for tests only. A package that uses it must end its tests with Main.
//
// # Shared and private servers
//
// MySQL, Postgres and Redis hand out places on one server per engine and test binary,
// which starts when the first test asks for it and ends in Main. Databases are fresh
// and dropped when their test ends. The Redis is shared as it is: each test uses keys
// of its own (a namespace that holds its name), and none flushes it or changes its
// settings.
//
// NewMySQL, NewPostgres and NewRedis start a server for one test, which may do with it
// what it likes. Extra arguments go to the server's command line and override the
// defaults, which are small and fast: nothing is synced to disk, yet what a SQL
// server has acknowledged survives Kill, since it is with the kernel by then. A Redis
// keeps nothing over Stop and Kill unless it is told to, as above.
//
// Servers listen on 127.0.0.1 only, at free ports below the range that the kernel
// gives to outgoing connections, so that nobody takes a port while its server is down.
// Their data lie in temporary folders that are removed when the server is done with.
// They die with the test binary, however it ends. As root, PostgreSQL runs as the
// user postgres, MariaDB as root, and Galera as mysql.
//
// # Several servers
//
//	primary := testserver.NewRedis(t)                 // or NewMySQLPrimary
//	replica := testserver.NewRedisReplica(t, primary) // or NewMySQLReplica
//	replica.CutLink()                                 // or Pause: it misses what comes now
//	primary.Kill()
//	replica.Promote()
//
// NewSentinels and NewCluster start a Redis that fails over by itself, NewGalera a
// MariaDB of several nodes.
//
// # Clocks
//
// ShiftClock steps the wall clock of one private server. These run under a small
// library for it, which cc compiles when the first of them starts; without a compiler
// they have the clock of the machine, and ShiftClock skips the test like a missing
// engine.
//
// # Where an engine is missing
//
// A test that needs an engine which is not installed is skipped, with a line that
// says what to do; Main repeats it once per engine (go test -v shows it). With
// CI=true the test fails instead. scripts/test-deps.sh installs the engines.
//
// These variables name servers to use in place of the shared ones. Each test
// still gets its own fresh database, so the accounts must be allowed to create some:
//
//	SNOWLEASE_TEST_MYSQL_DSN      user:pass@tcp(host:port)/  (MySQL 8 or MariaDB)
//	SNOWLEASE_TEST_POSTGRES_DSN   URL or key=value form
//	SNOWLEASE_TEST_REDIS_ADDR     host:port
//
// Private servers are always started here, on Linux only.
package testserver
