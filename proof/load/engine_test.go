package load

import (
	"context"
	"database/sql"
	"flag"
	"io"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "3") // one server each; tests mostly wait for leases
	testserver.Main(m)
}

// An engine is a kind of server that lends worker ids.
type engine struct {
	name  string
	start func(testing.TB) *testserver.Server
	// connect opens a center as one process does, with its own connections.
	connect func(testing.TB, *testserver.Server) (lease.Center, io.Closer)
	wipe    func(context.Context, *testserver.Server) error // deletes all records
	// calls returns the number of client calls since the server started: scripts, or
	// statements.
	calls func(context.Context, *testserver.Server) (float64, error)
	unit  string // the unit of calls
	// late is how long an idle server may take to count a call.
	late time.Duration
}

var engines = []engine{
	{
		name: "redis", unit: "scripts",
		start:   func(t testing.TB) *testserver.Server { return testserver.NewRedis(t) },
		connect: connectRedis, wipe: wipeRedis, calls: redisCalls,
	},
	{
		name: "mariadb", unit: "statements",
		start:   func(t testing.TB) *testserver.Server { return testserver.NewMariaDB(t) },
		connect: connectSQL("mysql"), calls: mysqlCalls,
		wipe: func(ctx context.Context, s *testserver.Server) error { return wipeSQL(ctx, "mysql", s.DSN()) },
	},
	{
		name: "postgresql", unit: "statements",
		start:   func(t testing.TB) *testserver.Server { return testserver.NewPostgres(t) },
		connect: connectSQL("pgx"), calls: postgresCalls, late: 11 * time.Second,
		wipe: func(ctx context.Context, s *testserver.Server) error { return wipeSQL(ctx, "pgx", s.DSN()) },
	},
}

// etcd is only in BenchmarkBurst.
var etcd = engine{
	name:    "etcd",
	start:   func(t testing.TB) *testserver.Server { return testserver.NewEtcd(t, 1).Nodes[0] },
	connect: func(t testing.TB, s *testserver.Server) (lease.Center, io.Closer) { return connectEtcd(t, s.DSN()) },
	wipe:    func(ctx context.Context, s *testserver.Server) error { return wipeEtcd(ctx, s.DSN()) },
}

func connectEtcd(t testing.TB, urls ...string) (lease.Center, io.Closer) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: urls, DialTimeout: 10 * time.Second})
	require.NoError(t, err)
	center, err := etcdseq.New(c)
	require.NoError(t, err)
	return center, c
}

func wipeEtcd(ctx context.Context, urls ...string) error {
	c, err := clientv3.New(clientv3.Config{Endpoints: urls})
	if err == nil {
		defer c.Close()
		_, err = c.Delete(ctx, "snowlease/", clientv3.WithPrefix())
	}
	return err
}

func client(s *testserver.Server) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: s.Addr(), ContextTimeoutEnabled: true, PoolSize: 2})
}

func connectRedis(t testing.TB, s *testserver.Server) (lease.Center, io.Closer) {
	t.Helper()
	c := client(s)
	center, err := redisseq.New(c)
	require.NoError(t, err)
	return center, c
}

func wipeRedis(ctx context.Context, s *testserver.Server) error {
	c := client(s)
	defer c.Close()
	return c.FlushAll(ctx).Err()
}

func redisCalls(ctx context.Context, s *testserver.Server) (sum float64, err error) {
	c := client(s)
	defer c.Close()
	text, err := c.Info(ctx, "commandstats").Result()
	for _, found := range regexp.MustCompile(`cmdstat_eval(?:sha)?:calls=(\d+)`).FindAllStringSubmatch(text, -1) {
		n, _ := strconv.ParseFloat(found[1], 64) // digits
		sum += n
	}
	return sum, err
}

func connectSQL(driver string) func(testing.TB, *testserver.Server) (lease.Center, io.Closer) {
	return func(t testing.TB, s *testserver.Server) (lease.Center, io.Closer) {
		t.Helper()
		center, err := dbseq.Open(driver, s.DSN())
		require.NoError(t, err)
		return center, center
	}
}

func wipeSQL(ctx context.Context, driver, dsn string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, table := range []string{"snowlease_slot", "snowlease_meta"} {
		if _, err := db.ExecContext(ctx, "DELETE FROM "+table); err != nil {
			return err
		}
	}
	return nil
}

func ask(ctx context.Context, driver string, s *testserver.Server, query string, into ...any) error {
	db, err := sql.Open(driver, s.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	return db.QueryRowContext(ctx, query).Scan(into...)
}

func mysqlCalls(ctx context.Context, s *testserver.Server) (n float64, err error) {
	var name string
	err = ask(ctx, "mysql", s, "SHOW GLOBAL STATUS LIKE 'Questions'", &name, &n)
	return n, err
}

// postgresCalls counts transactions: every statement of a center is one.
func postgresCalls(ctx context.Context, s *testserver.Server) (n float64, err error) {
	err = ask(ctx, "pgx", s, "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()", &n)
	return n, err
}
