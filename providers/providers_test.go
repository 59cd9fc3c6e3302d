package providers_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	gomysql "github.com/go-sql-driver/mysql"
	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"go.uber.org/goleak"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/mysql"
	"github.com/snowlease/snowlease/providers/postgres"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/secret"
	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/providers/sqlite"
)

func TestMain(m *testing.M) {
	// go-redis continues to dial for a while after a client without a server is closed.
	testserver.Main(m,
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).queuedNewConn"),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).queuedNewConn.func2"),
		goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9.(*sentinelFailover).MasterAddr"))
}

// A user takes both clients as optional, like package idworker.
type user struct {
	fx.In

	DB    *gorm.DB                `optional:"true"`
	Redis goredis.UniversalClient `optional:"true"`
}

func sqliteConfig(t *testing.T) sqldb.Config {
	return sqldb.Config{Driver: "sqlite", DSN: secret.String(filepath.Join(t.TempDir(), "app.db"))}
}

func TestModuleOpensWhatIsConfigured(t *testing.T) {
	t.Parallel()
	onSQLite, onRedis := sqliteConfig(t), redis.Config{Addrs: []string{miniredis.RunT(t).Addr()}}
	for _, config := range []providers.Config{{}, {DB: onSQLite}, {Redis: onRedis}, {DB: onSQLite, Redis: onRedis}} {
		var got user
		app := fxtest.New(t, fx.Supply(config), providers.Module, fx.Invoke(func(u user) { got = u }))
		app.RequireStart()
		require.Equal(t, config.DB != sqldb.Config{}, got.DB != nil)
		require.Equal(t, !config.Redis.IsZero(), got.Redis != nil)
		app.RequireStop()
	}
}

func TestModuleOpensNothingUnasked(t *testing.T) {
	t.Parallel()
	unreachable := providers.Config{
		DB:    sqldb.Config{Driver: "mysql", DSN: "root@tcp(127.0.0.1:1)/app"},
		Redis: redis.Config{Addrs: []string{"127.0.0.1:1"}},
	}
	app := fxtest.New(t, fx.Supply(unreachable), providers.Module)
	app.RequireStart().RequireStop()
}

// Users of a client stop before it is closed, in any order of the modules.
func TestClosedAfterItsUsers(t *testing.T) {
	t.Parallel()
	srv := miniredis.RunT(t)
	var (
		got     user
		stopped = io.EOF
		worker  = fx.Module("worker", fx.Invoke(func(lc fx.Lifecycle, u user) {
			got = u
			lc.Append(fx.StopHook(func(ctx context.Context) error {
				stopped = u.DB.WithContext(ctx).Exec("SELECT 1").Error
				if stopped == nil {
					stopped = u.Redis.Set(ctx, "k", "v", 0).Err()
				}
				return stopped
			}))
		}))
	)
	app := fxtest.New(t, worker, fx.Supply(providers.Config{DB: sqliteConfig(t), Redis: redis.Config{Addrs: []string{srv.Addr()}}}), providers.Module)
	app.RequireStart().RequireStop()
	require.NoError(t, stopped)
	require.ErrorContains(t, got.DB.Exec("SELECT 1").Error, "closed")
	require.ErrorIs(t, got.Redis.Ping(t.Context()).Err(), goredis.ErrClosed)
}

// TestStopAfterAnOutage: MySQL's driver says goodbye to a server that is gone.
func TestStopAfterAnOutage(t *testing.T) {
	t.Parallel()
	var conn net.Conn
	gomysql.RegisterDialContext("broken", func(ctx context.Context, addr string) (_ net.Conn, err error) {
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", addr)
		return conn, err
	})
	dsn := strings.Replace(testserver.MariaDB(t), "@tcp(", "@broken(", 1)
	app := fxtest.New(t, fx.Supply(providers.Config{DB: sqldb.Config{Driver: "mysql", DSN: secret.String(dsn)}}), providers.Module, fx.Invoke(func(user) {}))
	app.RequireStart()
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	app.RequireStop()
}

const password = "s3cr3t-word"

func TestNoAnswerAtStart(t *testing.T) {
	t.Parallel()
	const closed, short = "127.0.0.1:1", 100 * time.Millisecond
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // never answers
	require.NoError(t, err)
	t.Cleanup(func() { _ = deaf.Close() })
	silent := deaf.Addr().String()
	db := func(connect time.Duration, driver, dsn string) providers.Config {
		return providers.Config{DB: sqldb.Config{Driver: driver, DSN: secret.String(dsn), ConnectTimeout: connect}}
	}
	cache := func(c redis.Config) providers.Config {
		c.ConnectTimeout, c.Username, c.Password = short, "app", password
		return providers.Config{Redis: c}
	}
	for _, c := range []struct {
		name   string
		config providers.Config
		want   []string
	}{
		{"mysql refused", db(0, "mysql", "app:"+password+"@tcp("+closed+")/orders"), []string{"mysql at " + closed + "/orders: cannot connect", "refused", "check that the server runs"}},
		{"mysql deaf", db(short, "mysql", "app:"+password+"@tcp("+silent+")/orders"), []string{"mysql at " + silent + "/orders: cannot connect"}},
		{"postgres refused", db(0, "postgres", "postgres://app:"+password+"@"+closed+"/orders?sslmode=disable"), []string{"postgres at " + closed + "/orders: cannot connect", "refused", "check that the server runs"}},
		{"postgres deaf", db(short, "postgres", "host=127.0.0.1 port="+strings.TrimPrefix(silent, "127.0.0.1:")+" user=app password="+password+" dbname=orders sslmode=disable"), []string{"postgres at " + silent + "/orders: cannot connect"}},
		{"sqlite folder", db(0, "sqlite", filepath.Join(t.TempDir(), "none", "app.db")), []string{"sqlite at ", "none/app.db: cannot connect", "check that the folder of the file exists"}},
		{"sqlite parameter", db(0, "sqlite", filepath.Join(t.TempDir(), "app.db?_txlock=sometimes")), []string{"app.db: cannot connect", "unknown _txlock", "the parameters in db.dsn"}},
		{"redis refused", cache(redis.Config{Addrs: []string{closed}}), []string{"redis at " + closed + ": cannot connect", "check that it runs"}},
		{"redis deaf", cache(redis.Config{Addrs: []string{silent}}), []string{"redis at " + silent + ": cannot connect"}},
		{"redis cluster", cache(redis.Config{Addrs: []string{closed, "127.0.0.1:2"}}), []string{"redis cluster at 127.0.0.1:1, 127.0.0.1:2: cannot connect"}},
		{"redis sentinel", cache(redis.Config{Addrs: []string{closed}, Master: "main", SentinelPassword: password}), []string{"redis sentinel at " + closed + ": cannot connect", `watch "main"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			app := fx.New(fx.NopLogger, fx.Supply(c.config), providers.Module, fx.Invoke(func(user) {}))
			err := app.Err()
			if err == nil {
				err = app.Start(t.Context())
			}
			require.Error(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), password)
		})
	}
}

// Errors show no part of the password, however malformed the DSN is.
func TestPasswordsStayOutOfErrors(t *testing.T) {
	t.Parallel()
	for driver, dsns := range map[string][]string{
		"mysql": {
			"app:" + password + "/orders", "app:" + password, "app:" + password + "@tcp(127.0.0.1:1/orders", "app:" + password + "(127.0.0.1:1)/orders",
			"app:" + password + "@tcp(127.0.0.1:1)/orders?tls=" + password, "app:" + password + "@tcp(127.0.0.1:1)/orders?timeout=" + password,
			"app:" + password + "@tcp(127.0.0.1:1)/orders?allowAllFiles=true", "app:" + password + "@tcp(127.0.0.1:1)/orders?allowCleartextPasswords=1", "app:" + password + "@tcp(127.0.0.1:1)/orders?allowOldPasswords=1",
		},
		"postgres": {
			"postgres://app:" + password + "@127.0.0.1:port/orders", "postgres://app:" + password + "#@127.0.0.1/orders", "postgres://app:" + password + "/%zz@127.0.0.1:1/orders",
			"postgres://app:12/" + password + "@127.0.0.1:1/orders", "postgres://app:12#" + password + "@127.0.0.1:1/orders", "postgres://app:1@" + password + "/2@127.0.0.1:1/orders",
			"host=127.0.0.1 password='" + password, "host=127.0.0.1 password=" + password + " sslmode=nonsense", "app:" + password + "@tcp(127.0.0.1:1)/orders",
			"host=127.0.0.1 password=" + password + " sslmode=verify-full sslrootcert=/does/not/exist", "host=127.0.0.1 password=" + password + `\`,
		},
		"sqlite": {"app.db?_auth_pass=" + password + "%zz", "app.db&_auth_pass=" + password, "file:app.db;key=" + password},
	} {
		for _, dsn := range dsns {
			db, err := openConfig(t, sqldb.Config{Driver: driver, DSN: secret.String(dsn)})
			require.Nil(t, db)
			require.ErrorContains(t, err, "providers: db.dsn is not a "+driver+" DSN")
			require.NotContains(t, err.Error(), password)
			require.NotContains(t, err.Error(), "s3cr3t")
		}
	}
	_, err := openConfig(t, sqldb.Config{Driver: "postgres", DSN: "host=127.0.0.1 sslmode=verify-full sslrootcert=/does/not/exist"})
	require.ErrorContains(t, err, "/does/not/exist")

	_, err = redis.Open(t.Context(), redis.Config{Addrs: []string{"redis://app:" + password + "@127.0.0.1:1"}})
	require.ErrorContains(t, err, "redis.addrs[0] is a URL: set host:port")
	require.NotContains(t, err.Error(), password)
}

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	require.NoError(t, providers.Config{}.Validate())
	err := providers.Config{
		DB: sqldb.Config{MaxOpen: -1, MaxIdle: -2, MaxLifetime: -1, MaxIdleTime: -1, ConnectTimeout: 5, SlowQuery: -1},
		Redis: redis.Config{
			Addrs: []string{"localhost", "h:1"}, Master: "m", Cluster: true, DB: -1, PoolSize: -1,
			ConnectTimeout: -1, Timeout: 2,
		},
	}.Validate()
	for _, want := range []string{
		"db.driver is empty and the dsn has the form of none: write it like user:password@tcp(host:3306)/name, ", "db.dsn is empty: set", "db.max_open -1", "db.max_idle -2", "db.max_lifetime -1ns",
		"db.max_idle_time -1ns", "db.connect_timeout 5ns is below 1ms", "db.slow_query -1ns",
		`redis.addrs[0] is not host:port`, `redis.master "m" and cluster exclude each other`, "redis.db -1 is negative",
		"redis.pool_size -1", "redis.connect_timeout -1ns", "redis.timeout 2ns is below 1ms",
	} {
		require.ErrorContains(t, err, want)
	}
	require.Len(t, strings.Split(err.Error(), "\n"), 14, err)

	for _, c := range []struct {
		config redis.Config
		want   string
	}{
		{redis.Config{Addrs: []string{"a:1", "b:1"}, DB: 3}, "redis.db 3 does not exist in a cluster"},
		{redis.Config{Addrs: []string{"a:1"}, Cluster: true, DB: 3}, "redis.db 3 does not exist in a cluster"},
		{redis.Config{Addrs: []string{"a:1"}, SentinelPassword: "x"}, "without master"},
		{redis.Config{Password: "x"}, "redis.addrs is empty"},
		{redis.Config{Addrs: []string{"a:1"}, Master: "m", DB: 3, Password: "x\n", SentinelPassword: "x\n"}, ""},
		{redis.Config{Addrs: []string{"a\n:1"}}, "redis.addrs[0] is not host:port"},
		{redis.Config{Addrs: []string{"a:1"}, Master: "m\n"}, "redis.master has the control character U+000A"},
		{redis.Config{Addrs: []string{"a:1"}, Username: "u\n"}, "redis.username has the control character U+000A"},
		{redis.Config{Addrs: []string{"a:1"}, Password: "x\ny"}, "redis.password has the control character U+000A"},
	} {
		err := providers.Config{Redis: c.config}.Validate()
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
	for _, dsn := range []secret.String{"app:word@tcp(h:1)/shop", "postgres://app:word@h/shop", "host=h password=word", "app.db"} {
		require.NoError(t, sqldb.Config{DSN: dsn + " \r\n"}.Validate())
		require.Equal(t, dsn, sqldb.Config{DSN: dsn + " \r\n"}.WithDefaults().DSN)
		require.ErrorContains(t, sqldb.Config{Driver: "mysql", DSN: "\x1b" + dsn}.Validate(), "db.dsn has the control character U+001B at byte 0")
	}
	require.ErrorContains(t, sqldb.Config{Driver: "sqlite", DSN: "x", MaxOpen: 2, MaxIdle: 3}.Validate(), "db.max_idle 3 is not 0 to max_open (2)")
}

// The module of one driver or client works alone, and requires its Config.
func TestModulesOfOneDriver(t *testing.T) {
	t.Parallel()
	var db *gorm.DB
	app := fxtest.New(t, fx.Supply(sqliteConfig(t)), sqlite.Module, fx.Populate(&db))
	app.RequireStart()
	require.NoError(t, db.Exec("CREATE TABLE t (id INTEGER)").Error)
	app.RequireStop()
	for _, module := range []fx.Option{sqlite.Module, mysql.Module, postgres.Module} {
		app := fx.New(fx.NopLogger, fx.Supply(sqldb.Config{}), module, fx.Invoke(func(*gorm.DB) {}))
		require.ErrorContains(t, app.Err(), "db.driver is empty")
		require.ErrorContains(t, app.Err(), "db.dsn is empty")
	}
	empty := fx.New(fx.NopLogger, fx.Supply(redis.Config{}), redis.Module, fx.Invoke(func(goredis.UniversalClient) {}))
	require.ErrorContains(t, empty.Err(), "redis.addrs is empty")
	var client goredis.UniversalClient
	app = fxtest.New(t, fx.Supply(redis.Config{Addrs: []string{testserver.Redis(t)}}), redis.Module, fx.Populate(&client))
	app.RequireStart()
	require.NoError(t, client.Set(t.Context(), t.Name(), "v", time.Minute).Err())
	app.RequireStop()
}

type row struct {
	ID   int64 `gorm:"primaryKey;autoIncrement:false"`
	Name string
	At   time.Time
}

// The same application runs on each engine.
func TestEngines(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(*testing.T) string{
		"mariadb":  func(t *testing.T) string { return testserver.MariaDB(t) },
		"mysql":    func(t *testing.T) string { return testserver.MySQL(t) },
		"postgres": func(t *testing.T) string { return testserver.Postgres(t) },
		"sqlite":   func(t *testing.T) string { return filepath.Join(t.TempDir(), "app.db") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var (
				db  *gorm.DB
				log bytes.Buffer
			)
			config := providers.Config{DB: sqldb.Config{Driver: strings.Replace(name, "mariadb", "mysql", 1), DSN: secret.String(dsn(t)), MaxOpen: 3}}
			app := fxtest.New(t, fx.Supply(config, slog.New(slog.NewTextHandler(&log, nil))), providers.Module, fx.Populate(&db))
			app.RequireStart()
			require.Contains(t, log.String(), "database is open")
			require.NoError(t, db.AutoMigrate(&row{}))
			at := time.Now().UTC().Truncate(time.Millisecond)
			require.NoError(t, db.Create(&row{ID: 1 << 60, Name: password, At: at}).Error)
			require.ErrorIs(t, db.Create(&row{ID: 1 << 60, Name: password, At: at}).Error, gorm.ErrDuplicatedKey)
			var got row
			require.NoError(t, db.First(&got).Error)
			require.True(t, at.Equal(got.At), "%v %v", at, got.At)
			pool, err := db.DB()
			require.NoError(t, err)
			require.Equal(t, 3, pool.Stats().MaxOpenConnections)
			require.NotContains(t, log.String(), password, "values stay out of the log")
			app.RequireStop()
		})
	}
}
