package idworker_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/driver/mysql"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/dbseq/gormdb"
	"github.com/snowlease/snowlease/gormplugin"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/history"
	"github.com/snowlease/snowlease/redisseq"
)

// On every engine an application starts and stops, and without GORM too: then a center lends the
// worker ids and counts the ids for times past, and a numbers.Store takes the place of the *gorm.DB.
// fx may start it again: the worker, its streams, numbers and backdated ids go on.
func TestStartAndStopOnEveryEngine(t *testing.T) {
	t.Parallel()
	counted := func(t testing.TB) fx.Option { return universal(newRedis(t, testserver.Redis(t))) }
	for _, s := range append(stores(), store{"redis-sequence", counted, false}, store{"sqlite without GORM", withoutGORM, false}) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			cfg := idworker.Config{Namespace: namespace(t), Layout: business, Store: idworker.StoreConfig{Durable: s.durable, Skew: time.Millisecond}}
			if s.name == "redis-sequence" {
				cfg.Mode = idworker.ModeRedisSequence
			}
			inDB := !strings.Contains(s.name, "redis")
			var w *idworker.IdWorker
			var past *history.Issuer
			var small *idworker.Numbers
			var j journal
			more := fx.Options(fx.Populate(&small), j.provide())
			if inDB {
				cfg.Segments = []numbers.SegmentConfig{{Name: "prefetched"}, {Name: "strict", Start: 1000, Strict: true}}
				cfg.Reserved, more = 1, fx.Options(more, backdated(&past))
				cfg.Series = []numbers.SeriesConfig{{Name: "invoices", Period: numbers.Year}}
			}
			a := app(t, &w, fx.Supply(cfg), s.provide(t), more)
			_, err := w.NextID()
			require.ErrorIs(t, err, snowlease.ErrNotStarted)
			require.Error(t, w.Healthy())
			require.Equal(t, snowlease.StateNotStarted, w.Status().State)
			stream, err := w.For(2)
			require.NoError(t, err)
			last := int64(0)
			for round := range 3 {
				a.RequireStart()
				require.NoError(t, w.Healthy())
				for _, next := range []func(context.Context) (int64, error){w.NextIDWait, stream.NextIDWait} {
					id, err := next(t.Context())
					require.NoError(t, err)
					p, err := w.Decode(id)
					require.NoError(t, err)
					require.WithinDuration(t, time.Now(), p.Time, time.Minute)
					id &^= 31 << 12 // whatever the business number
					require.Greater(t, id, last)
					last = id
				}
				for i, c := range cfg.Segments {
					numbers, err := small.Segment(c.Name)
					require.NoError(t, err)
					n, err := numbers.Next(t.Context())
					require.NoError(t, err)
					require.True(t, !c.Strict || n == int64(1000+round), n)
					for _, where := range []string{w.Status().Center, small.Status()[i].Store} {
						require.Equal(t, strings.HasPrefix(s.name, "sqlite"), strings.HasPrefix(where, "sqlite "))
					}
				}
				if inDB {
					invoices, err := small.Series("invoices")
					require.NoError(t, err)
					n, err := invoices.Next(t.Context(), "")
					require.NoError(t, err)
					require.EqualValues(t, round+1, n.Value)
					_, err = past.Backfill(time.Now()).NextIDAt(t.Context(), time.Now().Add(-time.Hour))
					require.NoError(t, err)
				}
				requireStatus(t, w, cfg, 2*(round+1), last)
				a.RequireStop()
				_, err := stream.NextID()
				require.ErrorIs(t, err, snowlease.ErrClosed)
				require.Equal(t, snowlease.StateStopped, w.Status().State)
			}
			require.Regexp(t, "idworker started.*"+cfg.Namespace, j.String())
			for _, want := range []string{"worker id borrowed", fmt.Sprint("good_for_replicas=", w.Status().Pool.Replicas()), "worker id released"} {
				require.Equal(t, cfg.Mode == "", strings.Contains(j.String(), want), want)
			}
		})
	}
}

// requireStatus checks the status of a worker that is ready.
func requireStatus(t *testing.T, w *idworker.IdWorker, cfg idworker.Config, issued int, last int64) {
	t.Helper()
	st := w.Status()
	require.Equal(t, []any{snowlease.StateReady, cfg.Namespace, int64(issued)}, []any{st.State, st.Namespace, st.Issued})
	if cfg.Mode != "" {
		return
	}
	p, err := w.Decode(last)
	require.NoError(t, err)
	require.Equal(t, p.Worker, st.Worker)
	require.True(t, st.Floor.Before(p.Time) && p.Time.Before(st.Ceiling))
	slots, err := w.Slots(t.Context())
	require.NoError(t, err)
	require.Len(t, slots, 32-int(cfg.Reserved))
	require.Contains(t, slots[st.Worker].Holder, "idworker.test@")
}

// withoutGORM provides a center and a store of numbers on a SQLite file.
func withoutGORM(t testing.TB) fx.Option {
	dsn := filepath.Join(t.TempDir(), "app.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
	c, err := dbseq.Open("sqlite", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return fx.Options(centered(c), fx.Provide(func(c lease.Center) numbers.Store { return c.(*dbseq.Center).Numbers() }))
}

// An application that is built and never started leaks nothing (goleak checks).
func TestBuiltAndNeverStarted(t *testing.T) {
	var w *idworker.IdWorker
	var s *idworker.Numbers
	cfg := idworker.Config{Namespace: "orders", Segments: []numbers.SegmentConfig{{Name: "orders"}}}
	require.NoError(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(newSQLite(t), cfg), fx.Populate(&w, &s)).Err())
}

func TestConfigThatFxDoesNotSee(t *testing.T) {
	var w *idworker.IdWorker
	for _, opt := range []fx.Option{fx.Options(), fx.Supply(&idworker.Config{Namespace: "orders"})} {
		require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Module, opt, fx.Populate(&w)).Err(), "missing type: idworker.Config")
	}
}

// An application that has a database and takes ids by hand may have forgotten
// idworker.GORM. The start says so.
func TestForgottenPlugin(t *testing.T) {
	t.Parallel()
	const unfilled = `level=WARN msg="idworker.GORM is not listed: no keys of GORM models are filled" namespace=orders`
	cfg := idworker.Config{Namespace: "orders"}
	local := fx.Supply(idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: new(int64), Stateless: true}})
	for _, c := range []struct {
		name string
		opts fx.Option
		want bool
	}{
		{"by hand", fx.Options(fx.Supply(cfg, newSQLite(t, cfg)), fx.Invoke(func(*idworker.IdWorker) {})), true},
		{"by hand, no database", fx.Options(local, fx.Invoke(func(*idworker.IdWorker) {})), false},
		{"segments only", fx.Options(fx.Supply(cfg), fx.Invoke(func(*idworker.Numbers) {})), false},
		{"the plugin", fx.Options(fx.Supply(cfg, newSQLite(t, cfg)), idworker.GORM), false},
		{"the plugin before", fx.Options(idworker.GORM, fx.Supply(cfg, newSQLite(t, cfg))), false},
		{"the plugin by db.Use", fx.Options(fx.Supply(cfg, newSQLite(t, cfg)), fx.Invoke(func(db *gorm.DB, w *idworker.IdWorker) error {
			return db.Use(gormplugin.New(w, gormplugin.Config{}))
		})), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var j journal
			fxtest.New(t, fx.NopLogger, c.opts, idworker.Module, j.provide()).RequireStart().RequireStop()
			require.Equal(t, c.want, strings.Contains(j.String(), unfilled), &j)
		})
	}
}

// With fx.NopLogger, fx tells nobody why an application does not start. The logger of the
// application does, or the default one.
func TestFailedStartIsLogged(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{Namespace: "orders", Wait: time.Second, Segments: []numbers.SegmentConfig{{Name: "invoices", MustExist: true}}}
	other := cfg
	other.Preset = "jssafe"
	db := newSQLite(t, other)
	for says, opt := range map[string]fx.Option{
		`level=ERROR msg="idworker did not start" err="snowlease: `:                       fx.Invoke(func(*idworker.IdWorker) {}),
		`level=ERROR msg="idworker did not open its segments" err="snowlease: segments: `: fx.Invoke(func(*idworker.Numbers) {}),
	} {
		var j journal
		require.Error(t, fx.New(fx.NopLogger, fx.Supply(cfg, db), idworker.Module, j.provide(), opt).Start(t.Context()))
		require.Contains(t, j.String(), says)
		require.Equal(t, 1, strings.Count(j.String(), "level=ERROR"), &j)
		require.Error(t, fx.New(fx.NopLogger, fx.Supply(cfg, db), idworker.Module, opt).Start(t.Context()))
		require.Contains(t, usual.String(), says)
	}
}

// Ids that are asked for too early or too late say when to ask.
func TestErrorsSayWhenToAsk(t *testing.T) {
	for name, cfg := range map[string]idworker.Config{
		"leased":  {Namespace: "orders", Mode: idworker.ModeDB},
		"counted": {Namespace: "orders", Mode: idworker.ModeRedisSequence, Store: idworker.StoreConfig{Durable: true, Skew: time.Millisecond}},
		"local":   {Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: new(int64), Stateless: true}},
	} {
		t.Run(name, func(t *testing.T) {
			var w *idworker.IdWorker
			a := app(t, &w, fx.Supply(cfg, newSQLite(t, idworker.Config{Namespace: "orders"})), universal(newRedis(t, miniredis.RunT(t).Addr())))
			asks := func(is error, says string) {
				t.Helper()
				_, err := w.NextID()
				_, waited := w.NextIDWait(context.Background())
				for _, err := range []error{err, waited, w.NextIDs(context.Background(), make([]int64, 1))} {
					require.ErrorIs(t, err, is)
					require.ErrorContains(t, err, says)
				}
			}
			asks(snowlease.ErrNotStarted, "ids are available from OnStart on, not in constructors or Invoke; list idworker.Module before modules that need ids")
			a.RequireStart()
			_, err := w.NextIDWait(context.Background())
			require.NoError(t, err)
			a.RequireStop()
			asks(snowlease.ErrClosed, "the application has stopped: list idworker.Module before modules whose stop hooks ask")
		})
	}
}

// A start whose center or store of numbers is down names it and says what to check, without its
// password. It ends with wait, before its context.
func TestCenterDownAtStart(t *testing.T) {
	t.Parallel()
	away, err := dbseq.Open("mysql", "orders:secret@tcp(127.0.0.1:1)/shop")
	require.NoError(t, err)
	t.Cleanup(func() { _ = away.Close() })
	gone, err := gorm.Open(mysql.New(mysql.Config{DSN: "orders:secret@tcp(127.0.0.1:1)/shop", SkipInitializeWithVersion: true}), &gorm.Config{DisableAutomaticPing: true})
	require.NoError(t, err)
	pool, err := gone.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	redis, worker := universal(closedRedis(t)), fx.Invoke(func(*idworker.IdWorker) {})
	numbers := idworker.Config{Mode: idworker.ModeLocal, SegmentStore: idworker.SegmentStoreRedis, Segments: []numbers.SegmentConfig{{Name: "orders"}}}
	const check = "check that the server runs, and that this host reaches it at this address; a start waits for it for up to wait (2s)"
	for name, c := range map[string]struct {
		cfg  idworker.Config
		opts fx.Option
		want []string
	}{
		"redis":          {idworker.Config{}, fx.Options(redis, worker), []string{`acquire "orders" at redis 127.0.0.1:1 db 0`, check}},
		"redis-sequence": {idworker.Config{Mode: idworker.ModeRedisSequence}, fx.Options(redis, worker), []string{`sequence of "orders" at redis 127.0.0.1:1`, check}},
		"a center":       {idworker.Config{}, fx.Options(centered(away), worker), []string{`acquire a worker id on mysql 127.0.0.1:1/shop`, check}},
		"a *gorm.DB":     {idworker.Config{}, fx.Options(fx.Supply(gone), worker), []string{"acquire a worker id on mysql", check}},
		"segments":       {numbers, fx.Options(redis, fx.Invoke(func(*idworker.Numbers) {})), []string{"redis 127.0.0.1:1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.cfg.Namespace, c.cfg.Wait = "orders", 2*time.Second
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := fx.New(fx.NopLogger, idworker.Module, fx.Supply(c.cfg), c.opts).Start(ctx)
			for _, want := range append(c.want, "connection refused") {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "secret")
			require.NoError(t, ctx.Err(), "wait ends first")
		})
	}
}

func TestChoiceOfTheCenter(t *testing.T) {
	db := newSQLite(t)
	client := closedRedis(t)
	for _, c := range []struct {
		name string
		mode idworker.Mode
		opts fx.Option
		want []string // of the error; none: it is built
	}{
		{"no client", "", fx.Options(), []string{"no *gorm.DB", "redis.UniversalClient", "or lease.Center in the fx graph: provide one", "name tag"}},
		{"a *dbseq.Center without fx.As", "", fx.Provide(func() (*dbseq.Center, error) { return gormdb.Center(db) }), []string{"a *dbseq.Center and", "fx.Provide(fx.Annotate(newCenter, fx.As(new(lease.Center))))"}},
		{"both clients", "", fx.Options(fx.Supply(db), universal(client)), []string{"both", `"db"`, `"redis"`}},
		{"both clients, mode db", "db", fx.Options(fx.Supply(db), universal(client)), nil},
		{"both clients, mode redis", "redis", fx.Options(fx.Supply(db), universal(client)), nil},
		{"both clients, redisseq.New", "", fx.Options(fx.Supply(db), universal(client), fx.Provide(redisseq.New)), nil},
		{"mode db without one", "db", universal(client), []string{"mode db: no *gorm.DB and no lease.Center", "newCenter"}},
		{"mode redis without one", "redis", fx.Supply(db), []string{"mode redis", "redis.UniversalClient"}},
		{"nil clients count as none", "", fx.Provide(func() (*gorm.DB, redis.UniversalClient) { return nil, nil }), []string{"no *gorm.DB", "one, not nil"}},
		{"nil client beside one", "", fx.Options(fx.Supply(db), fx.Provide(func() redis.UniversalClient { return nil })), nil},
		{"a *redis.Client without fx.As", "", fx.Supply(client), []string{"To fx, a *redis.Client", "fx.As("}},
		{"a client whose own dependency is missing", "", fx.Provide(func(missing) *gorm.DB { return db }), []string{"with its dependencies"}},
		{"pointer to Config", "", fx.Options(fx.Supply(db)), nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w *idworker.IdWorker
			var lc fx.Lifecycle
			a := fx.New(fx.NopLogger, c.opts, fx.Supply(idworker.Config{Namespace: "orders", Mode: c.mode}), idworker.Module, fx.Populate(&w, &lc))
			if c.want == nil {
				require.NoError(t, a.Err())
				require.NoError(t, w.Close())
				return
			}
			for _, want := range c.want {
				require.ErrorContains(t, a.Err(), want)
			}
		})
	}
	t.Run("a provider that fails is not absent", func(t *testing.T) {
		var w *idworker.IdWorker
		a := fx.New(fx.NopLogger, fx.Supply(idworker.Config{Namespace: "orders"}),
			fx.Provide(func() (*gorm.DB, error) { return nil, errors.New("no such host") }), idworker.Module, fx.Populate(&w))
		require.ErrorContains(t, a.Err(), "no such host")
	})
}

type missing struct{}

// A center that the application provides takes precedence over any client.
func TestOwnCenterComesFirst(t *testing.T) {
	both := fx.Options(fx.Supply(newSQLite(t)), universal(closedRedis(t)))
	for mode, own := range map[idworker.Mode]bool{"": true, idworker.ModeAuto: true, idworker.ModeDB: true, idworker.ModeRedis: true, idworker.ModeLocal: false, idworker.ModeRedisSequence: false} {
		for name, clients := range map[string]fx.Option{"both": both, "no client": fx.Options()} {
			if name == "no client" && mode == idworker.ModeRedisSequence {
				continue
			}
			cfg := idworker.Config{Namespace: "orders", Mode: mode}
			if mode == idworker.ModeLocal {
				cfg.Local = hostseq.Config{Worker: new(int64), Stateless: true}
			}
			var w *idworker.IdWorker
			app(t, &w, fx.Supply(cfg), clients, centered(memcenter.New()))
			require.Equal(t, own, w.Status().Center == "memory", "%s, %s", mode, name)
			require.NoError(t, w.Close())
		}
	}
}

func TestTwoNamedWorkers(t *testing.T) {
	type workers struct {
		fx.In
		Orders *idworker.IdWorker `name:"orders"`
		Audit  *idworker.IdWorker `name:"audit"`
	}
	var ws workers
	jssafe := idworker.Config{Namespace: "audit", Preset: "jssafe", Store: idworker.StoreConfig{Durable: true}}
	orders := idworker.Config{Namespace: "orders"}
	a := fxtest.New(t, fx.NopLogger, fx.Supply(newSQLite(t, orders, jssafe)),
		idworker.Named("orders", orders),
		idworker.Named("audit", jssafe),
		fx.Invoke(func(w workers) { ws = w }))
	a.RequireStart()
	require.Equal(t, "orders", ws.Orders.Status().Namespace)
	require.Equal(t, "audit", ws.Audit.Status().Namespace)
	id, err := ws.Audit.NextID()
	require.NoError(t, err)
	require.Less(t, id, int64(1)<<53)
	a.RequireStop()
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Module, idworker.Named("", jssafe)).Err(), "already provided by")
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Named("x", idworker.Config{Segments: []numbers.SegmentConfig{{Name: "orders"}}})).Err(), "only Module opens segments")
	bad := fx.New(fx.NopLogger, idworker.Named("x", idworker.Config{}), fx.Invoke(fx.Annotate(func(*idworker.IdWorker) {}, fx.ParamTags(`name:"x"`))))
	require.ErrorContains(t, bad.Err(), `snowlease: worker "x": snowlease: config: namespace is empty`)
}

func TestLocalMode(t *testing.T) {
	t.Parallel()
	worker := int64(7)
	var w *idworker.IdWorker
	var j journal
	cfg := idworker.Config{Mode: idworker.ModeLocal, Wait: time.Second, Local: hostseq.Config{Worker: &worker, Dir: t.TempDir()}}
	a := app(t, &w, fx.Supply(cfg, newSQLite(t)), j.provide())
	a.RequireStart()
	id, err := w.NextID()
	require.NoError(t, err)
	p, err := w.Decode(id)
	require.NoError(t, err)
	require.Equal(t, worker, p.Worker)
	require.Contains(t, w.Status().Center, "local (explicit in ")
	require.NotEmpty(t, w.Status().Uniqueness)
	require.ErrorContains(t, w.Reset(t.Context()), "a copied process")
	_, err = idworker.Open(t.Context(), cfg, idworker.Clients{})
	require.ErrorIs(t, err, hostseq.ErrHeld, "another process has it")
	a.RequireStop()
	require.Error(t, w.Healthy())
	next, err := idworker.Open(t.Context(), cfg, idworker.Clients{})
	require.NoError(t, err)
	after, err := next.NextID()
	require.NoError(t, err)
	require.Greater(t, after, id)
	require.NoError(t, next.Close())
}

func TestOpenWithoutFx(t *testing.T) {
	cfg := idworker.Config{Namespace: "orders"}
	db := newSQLite(t, cfg)
	c := sqlCenter(t, db)
	w := borrow(t, c, cfg)
	id, err := w.NextID()
	require.NoError(t, err)
	require.ErrorContains(t, w.Reset(t.Context()), "a copied process", "the copy of a host has a copy of the file")
	next, err := w.NextID()
	require.NoError(t, err)
	require.Greater(t, next, id)
	require.NoError(t, w.Close())

	const none = "; one that is nil counts as none"
	for _, c := range []struct {
		cfg  idworker.Config
		with idworker.Clients
		want string
	}{
		{idworker.Config{}, idworker.Clients{}, "snowlease: mode auto: no *gorm.DB, redis.UniversalClient or lease.Center: give Clients a DB or a Redis, or without GORM a Center, such as one of dbseq.Open" + none},
		{idworker.Config{Mode: "db"}, idworker.Clients{}, "snowlease: mode db: no *gorm.DB and no lease.Center: give Clients a DB, or without GORM a Center, such as one of dbseq.Open" + none},
		{idworker.Config{Mode: "redis"}, idworker.Clients{}, "snowlease: mode redis: no redis.UniversalClient: give Clients a Redis" + none},
		{idworker.Config{Lease: idworker.LeaseConfig{ShutdownOnLoss: true}}, idworker.Clients{Center: c}, "lease.shutdown_on_loss needs an fx application"},
		{idworker.Config{Store: idworker.StoreConfig{WaitReplicas: 1}}, idworker.Clients{DB: db}, "store.wait_replicas 1: leave it out; configure the database"},
	} {
		c.cfg.Namespace = "orders"
		_, err := idworker.Open(t.Context(), c.cfg, c.with)
		require.ErrorContains(t, err, c.want)
	}
}

func TestShutdownOnLoss(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		t.Run(fmt.Sprint(shutdown), func(t *testing.T) {
			center := memcenter.New()
			cfg := idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{ShutdownOnLoss: shutdown, TTL: 300 * time.Millisecond}, Store: idworker.StoreConfig{Skew: 10 * time.Millisecond}}
			initialize(t, center, cfg)
			var w *idworker.IdWorker
			var j journal
			a := app(t, &w, fx.Supply(cfg), centered(center), j.provide())
			done := a.Wait()
			a.RequireStart()
			before, err := w.NextID()
			require.NoError(t, err)
			center.Advance(time.Minute) // every lease has expired
			require.Eventually(t, func() bool { return w.Status().Losses == 1 }, 30*time.Second, time.Millisecond)
			if !shutdown {
				require.Eventually(t, func() bool { return w.Healthy() == nil }, 30*time.Second, time.Millisecond)
				after, err := w.NextIDWait(t.Context())
				require.NoError(t, err)
				require.Greater(t, after, before)
				require.Empty(t, done)
			} else {
				select {
				case end := <-done:
					require.Equal(t, 1, end.ExitCode)
				case <-time.After(30 * time.Second):
					t.Fatal("the application goes on")
				}
				require.Contains(t, j.String(), "shutting down")
			}
			a.RequireStop()
		})
	}
}
