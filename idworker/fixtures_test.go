package idworker_test

import (
	"crypto/rand"
	"database/sql"
	"flag"
	"log/slog"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/libtnb/sqlite"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

var usual journal // of slog.Default

func TestMain(m *testing.M) {
	slog.SetDefault(usual.logger())
	_ = flag.Set("test.parallel", "8") // tests mostly wait; -parallel overrides this
	testserver.Main(m)
}

// A store is a way to provide a center to fx.
type store struct {
	name    string
	provide func(testing.TB) fx.Option
	durable bool // the engine has no incarnation
}

// stores are the engines under test, embedded ones first.
func stores() []store {
	return []store{
		{"sqlite", func(t testing.TB) fx.Option { return fx.Supply(newSQLite(t)) }, false},
		{"mariadb", func(t testing.TB) fx.Option {
			return fx.Supply(openDB(t, mysql.Open(testserver.MariaDB(t))))
		}, false},
		{"mysql", func(t testing.TB) fx.Option {
			return fx.Supply(openDB(t, mysql.Open(testserver.MySQL(t))))
		}, false},
		{"postgres", func(t testing.TB) fx.Option {
			return fx.Supply(openDB(t, postgres.Open(testserver.Postgres(t))))
		}, false},
		{"miniredis", func(t testing.TB) fx.Option {
			return universal(newRedis(t, miniredis.RunT(t).Addr()))
		}, true},
		{"redis", func(t testing.TB) fx.Option {
			return universal(newRedis(t, testserver.Redis(t)))
		}, false},
	}
}

// newSQLite returns a database in which the namespaces are initialized, so that a start does
// not wait.
func newSQLite(t testing.TB, namespaces ...idworker.Config) *gorm.DB {
	t.Helper()
	db := openDB(t, sqlite.Open(filepath.Join(t.TempDir(), "app.db")+"?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"))
	for _, cfg := range namespaces {
		c, err := gormdb.Center(db)
		require.NoError(t, err)
		initialize(t, c, cfg)
		require.NoError(t, c.Close())
	}
	return db
}

// initialize creates the records of a namespace, so that a start does not wait.
func initialize(t testing.TB, c lease.Center, cfg idworker.Config) {
	t.Helper()
	req, err := cfg.Request()
	require.NoError(t, err)
	require.NoError(t, c.Extras().Init(t.Context(), req))
}

func openDB(t testing.TB, d gorm.Dialector) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return db
}

func newRedis(t testing.TB, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// closedRedis returns a client of a port where nobody listens. It asks once.
func closedRedis(t testing.TB) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1})
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// universal provides c as a redis.UniversalClient.
func universal(c *redis.Client) fx.Option {
	return fx.Provide(func() redis.UniversalClient { return c })
}

// namespace returns a namespace that no other test uses, nor another run on the same server.
func namespace(t testing.TB) string {
	return regexp.MustCompile(`[/ +',#]`).ReplaceAllString(t.Name(), "-")[:min(40, len(t.Name()))] + "-" + strings.ToLower(rand.Text()[:8])
}

// A journal is a log for tests to read.
type journal struct{ logtest.Journal }

func (j *journal) logger() *slog.Logger { return slog.New(slog.NewTextHandler(j, nil)) }

func (j *journal) provide() fx.Option { return fx.Supply(j.logger()) }

// centered provides a lease.Center.
func centered(c lease.Center) fx.Option { return fx.Provide(func() lease.Center { return c }) }

// app is an fx application with a worker.
func app(t testing.TB, w **idworker.IdWorker, opts ...fx.Option) *fxtest.App {
	t.Helper()
	return fxtest.New(t, fx.NopLogger, fx.Options(opts...), idworker.Module, fx.Populate(w))
}

// openRedis returns a client of an embedded server, which reports its run_id as Redis does, for
// examples.
func openRedis(lc fx.Lifecycle) (redis.UniversalClient, error) {
	m := miniredis.NewMiniRedis()
	if err := m.Start(); err != nil {
		return nil, err
	}
	m.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		if cmd == "INFO" {
			c.WriteBulk("redis_version:7.2.4\r\nrun_id:1\r\nmaster_replid:2\r\nmaster_replid2:0\r\n")
		}
		return cmd == "INFO"
	})
	client := redis.NewClient(&redis.Options{Addr: m.Addr()})
	lc.Append(fx.StopHook(func() error {
		defer m.Close()
		return client.Close()
	}))
	return client, nil
}

// openMemory returns a database in memory, for examples.
func openMemory() (*gorm.DB, *sql.DB, error) {
	pool, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(1) // each connection would have a database of its own
	db, err := gorm.Open(sqlite.New(sqlite.Config{Conn: pool}), &gorm.Config{})
	return db, pool, err
}
