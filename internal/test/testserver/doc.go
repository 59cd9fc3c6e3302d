// Package testserver gives a test its own database on a real MariaDB, PostgreSQL or
// Redis. It also starts real servers that a test can kill, pause, restart and wipe, and
// whose clocks it can step.
//
//	func TestMain(m *testing.M) { testserver.Main(m) }
//
//	func TestOrders(t *testing.T) {
//		db, err := sql.Open("mysql", testserver.MariaDB(t)) // an empty database
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
// MariaDB, Postgres and Redis share one server per engine and test binary, or per run of
// scripts/stages.sh, which starts them with Each. Otherwise the first test that asks for the
// server starts it, and Main stops it. MariaDB and Postgres create a fresh database and drop
// it when the test ends. Accounts have random names. Redis is shared as a whole: each test
// uses keys with a random name, and no test flushes the server or changes its settings.
//
// NewMariaDB, NewPostgres and NewRedis start a private server for one test, which may do
// anything to it. Extra arguments go to the server's command line and override the
// defaults, which keep servers small and fast. Nothing is synced to disk. A SQL server
// still keeps acknowledged writes after Kill, because they have reached the kernel. A
// Redis keeps nothing after Stop or Kill unless its arguments say so, as above.
//
// Servers listen on 127.0.0.1 only. Their ports lie below the range that the kernel uses
// for outgoing connections, so nobody takes a port while its server is down. Their data
// lie in temporary folders, which are removed at the end. Servers die with the test
// binary, however it ends. When the tests run as root, PostgreSQL and PgBouncer run
// as the user postgres, the others as root and Galera as mysql.
//
// # Several servers
//
//	primary := testserver.NewRedis(t)                 // or NewMariaDBPrimary
//	replica := testserver.NewRedisReplica(t, primary) // or NewMariaDBReplica
//	replica.CutLink()                                 // or Pause: it misses later writes
//	primary.Kill()
//	replica.Promote()
//
// NewSentinels and NewCluster start a Redis that fails over automatically. NewGalera
// starts a MariaDB of several nodes. NewPgBouncer and NewHAProxy start a pooler and a proxy
// before servers.
//
// # Clocks
//
// ShiftClock steps the wall clock of one private server. Private servers preload a small
// library for this, which cc compiles when the first of them starts. Without a compiler
// they use the machine's clock, and ShiftClock skips the test as for a missing engine.
//
// # Missing engines
//
// A test that needs an engine that is not installed is skipped, with a message that says
// what to do. Main repeats the message once per engine (go test -v shows it). With
// CI=true the test fails instead. scripts/test-deps.sh installs the engines.
//
// These variables name servers that replace the shared ones. Each test still gets a fresh
// database, so the accounts must be allowed to create databases:
//
//	SNOWLEASE_TEST_MYSQL_DSN      user:pass@tcp(host:port)/
//	SNOWLEASE_TEST_MARIADB_DSN    user:pass@tcp(host:port)/
//	SNOWLEASE_TEST_POSTGRES_DSN   URL or key=value form
//	SNOWLEASE_TEST_REDIS_ADDR     host:port
//
// SNOWLEASE_TEST_ENGINE limits the tests to engines, separated by commas: mysql, mariadb,
// galera, postgres or redis, or sqlite for none of these. Tests that ask for another are
// skipped. Servers in PATH come first, so make engines runs other versions with
//
//	PATH=$PWD/.tools/engines/valkey/bin:$PATH SNOWLEASE_TEST_ENGINE=redis go test ./redisseq
//
// Private servers are always started on this machine, and on Linux only.
package testserver
