package idworker_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
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
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/history"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/numbers/series"
	"github.com/snowlease/snowlease/snowflake"
)

func TestStartAndStopOnEveryEngine(t *testing.T) {
	t.Parallel()
	for _, s := range stores() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range []idworker.Mode{idworker.ModeAuto, s.mode} {
				cfg := idworker.Config{Namespace: namespace(t), Mode: mode, Store: idworker.StoreConfig{Quarantine: s.quarantine}}
				var w *idworker.IdWorker
				var c lease.Center
				var j journal
				a := app(t, &w, fx.Supply(cfg), s.provide(t), opened(), closing(), j.provide(), fx.Populate(&c))
				_, err := w.NextID()
				require.ErrorIs(t, err, snowlease.ErrNotStarted)
				require.False(t, ready(w))
				require.Equal(t, snowlease.StateNotStarted, w.Status().State)
				a.RequireStart()

				require.NoError(t, w.Healthy(t.Context()))
				id, err := w.NextID()
				require.NoError(t, err)
				p, err := w.Decode(id)
				require.NoError(t, err)
				require.WithinDuration(t, time.Now(), p.Time, time.Minute)
				st := w.Status()
				require.Equal(t, snowlease.StateReady, st.State)
				require.Equal(t, p.Worker, st.Worker)
				require.Equal(t, cfg.Namespace, st.Namespace)
				require.Equal(t, int64(1), st.Issued)
				require.True(t, st.Floor.Before(p.Time) && p.Time.Before(st.Ceiling))
				slots, err := c.Extras().Lister.Slots(t.Context(), cfg.Namespace)
				require.NoError(t, err)
				require.Len(t, slots, 32)
				require.Contains(t, slots[st.Worker].Holder, "idworker.test@")

				a.RequireStop()
				_, err = w.NextID()
				require.ErrorIs(t, err, snowlease.ErrStopped)
				require.Equal(t, snowlease.StateStopped, w.Status().State)
				for _, want := range []string{"worker id borrowed", "idworker started", "good_for_replicas=16", cfg.Namespace, "worker id given back"} {
					require.Contains(t, j.String(), want)
				}
			}
		})
	}
}

// A start in a namespace that is new, or may have been lost, issues ids within Wait. They are
// up to MaxTTL ahead of the clock.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	for _, s := range stores() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var j journal
			var w *idworker.IdWorker
			a := app(t, &w, fx.Supply(idworker.Config{Namespace: namespace(t), Mode: s.mode, Store: idworker.StoreConfig{Quarantine: s.quarantine}}), s.provide(t), j.provide())
			a.RequireStart()
			require.Equal(t, snowlease.StateReady, w.Status().State)
			require.Greater(t, w.Status().Floor, w.Status().Since)
			require.Less(t, ahead(t, w), 30*time.Second)
			require.Regexp(t, `msg="idworker started" .* ids_ahead=\d+\.\d+s`, j.String())
			a.RequireStop()
		})
	}
}

// With exact_times, a first start fails during the quarantine and says when it ends and which
// key to change. A start that waits long enough issues exact times.
func TestFirstStartWithExactTimes(t *testing.T) {
	t.Parallel()
	for _, s := range stores() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			cfg := idworker.Config{
				Namespace: namespace(t), Mode: s.mode, Store: idworker.StoreConfig{Quarantine: s.quarantine, ExactTimes: true, Skew: time.Millisecond},
				Lease: idworker.LeaseConfig{TTL: time.Second, MaxTTL: 5 * time.Second}, Wait: 2 * time.Second,
			}
			clients := s.provide(t)
			var w *idworker.IdWorker
			err := app(t, &w, fx.Supply(cfg), clients).Start(t.Context())
			var q *lease.QuarantineError
			require.ErrorAs(t, err, &q)
			for _, says := range []string{"until " + q.Until.UTC().Format(time.RFC3339Nano), "raise wait (2s)", "without store.exact_times"} {
				require.ErrorContains(t, err, says)
			}
			cfg.Wait = time.Minute
			a := app(t, &w, fx.Supply(cfg), clients)
			a.RequireStart()
			require.LessOrEqual(t, w.Status().Floor, w.Status().Since)
			a.RequireStop()
		})
	}
}

// Module creates its own center.
func TestTwoOnOneDatabase(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{Namespace: "orders"}
	db := newSQLite(t, cfg)
	var w *idworker.IdWorker
	a := app(t, &w, fx.Supply(cfg, db))
	a.RequireStart()
	first := w.Status().Worker
	var second *idworker.IdWorker
	b := app(t, &second, fx.Supply(cfg, db))
	b.RequireStart()
	require.NotEqual(t, first, second.Status().Worker)
	b.RequireStop()
	a.RequireStop()
}

// An application that is built and never started leaks nothing (goleak checks).
func TestBuiltAndNeverStarted(t *testing.T) {
	var w *idworker.IdWorker
	var s *idworker.Segments
	cfg := idworker.Config{Namespace: "orders", Segments: []segment.Config{{Name: "orders"}}}
	require.NoError(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(newSQLite(t), cfg), fx.Populate(&w, &s)).Err())
}

func TestConfigThatFxDoesNotSee(t *testing.T) {
	var w *idworker.IdWorker
	for _, opt := range []fx.Option{fx.Options(), fx.Supply(&idworker.Config{Namespace: "orders"})} {
		require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Module, opt, fx.Populate(&w)).Err(), "no Config, or an empty one: add fx.Supply(")
	}
}

func TestModuleAsksForNothingByItself(t *testing.T) {
	a := fxtest.New(t, fx.NopLogger, idworker.Module)
	a.RequireStart().RequireStop()
}

// An application that has a database and takes ids by hand may have forgotten
// gormplugin.Module. The start says so.
func TestForgottenPlugin(t *testing.T) {
	t.Parallel()
	const unfilled = `level=WARN msg="gormplugin.Module is not listed: no keys of GORM models are filled" namespace=orders`
	cfg := idworker.Config{Namespace: "orders"}
	local := fx.Supply(idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: new(int64), Stateless: true}})
	for _, c := range []struct {
		name string
		opts fx.Option
		want bool
	}{
		{"by hand", fx.Options(fx.Supply(cfg, newSQLite(t, cfg)), fx.Invoke(func(*idworker.IdWorker) {})), true},
		{"by hand, as a Source", fx.Options(fx.Supply(cfg, newSQLite(t, cfg)), fx.Invoke(func(snowflake.Source) {})), true},
		{"by hand, no database", fx.Options(local, fx.Invoke(func(*idworker.IdWorker) {})), false},
		{"segments only", fx.Options(fx.Supply(cfg), fx.Invoke(func(*idworker.Segments) {})), false},
		{"the plugin", fx.Options(fx.Supply(cfg, newSQLite(t, cfg)), gormplugin.Module), false},
		{"the plugin before", fx.Options(gormplugin.Module, fx.Supply(cfg, newSQLite(t, cfg))), false},
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
// application does.
func TestFailedStartIsLogged(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{Namespace: "orders", Wait: time.Second, Segments: []segment.Config{{Name: "invoices", Create: segment.CreateNever}}}
	other := cfg
	other.Preset = "jssafe"
	db := newSQLite(t, other)
	for says, opt := range map[string]fx.Option{
		`level=ERROR msg="idworker did not start" err="snowlease: `:                      fx.Invoke(func(*idworker.IdWorker) {}),
		`level=ERROR msg="idworker did not open its segments" err="idworker: segments: `: fx.Invoke(func(*idworker.Segments) {}),
	} {
		var j journal
		a := fx.New(fx.NopLogger, fx.Supply(cfg, db), idworker.Module, j.provide(), opt)
		err := a.Start(t.Context())
		require.Error(t, err)
		require.Contains(t, j.String(), says)
		require.Equal(t, 1, strings.Count(j.String(), "level=ERROR"), &j)
	}
}

// Ids that are asked for too early or too late say when to ask.
func TestErrorsSayWhenToAsk(t *testing.T) {
	for name, cfg := range map[string]idworker.Config{
		"leased":  {Namespace: "orders", Mode: idworker.ModeDB},
		"counted": {Namespace: "orders", Mode: idworker.ModeRedisSequence, Store: idworker.StoreConfig{Quarantine: lease.QuarantineNever, Skew: time.Millisecond}},
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
			asks(snowlease.ErrStopped, "the application has stopped: list idworker.Module before modules whose stop hooks ask")
		})
	}
}

// A center that is down at the start is named, with the namespace and what to check.
func TestCenterDownIsExplained(t *testing.T) {
	away, err := dbseq.Open("mysql", "orders:secret@tcp(127.0.0.1:1)/shop")
	require.NoError(t, err)
	defer away.Close()
	for name, c := range map[string]struct {
		cfg    idworker.Config
		client fx.Option
		want   string
	}{
		"redis":          {idworker.Config{}, universal(closedRedis(t)), `acquire "orders" at redis 127.0.0.1:1 db 0`},
		"redis-sequence": {idworker.Config{Mode: idworker.ModeRedisSequence}, universal(closedRedis(t)), `sequence of "orders" at redis 127.0.0.1:1`},
		"mysql":          {idworker.Config{}, centered(away), `acquire a worker id on mysql 127.0.0.1:1/shop`},
	} {
		t.Run(name, func(t *testing.T) {
			c.cfg.Namespace, c.cfg.Wait = "orders", 100*time.Millisecond
			var w *idworker.IdWorker
			err := app(t, &w, fx.Supply(c.cfg), c.client).Start(t.Context())
			for _, want := range []string{c.want, "check that the server runs, and that this host reaches it at this address; a start waits for it for up to wait (100ms)"} {
				require.ErrorContains(t, err, want)
			}
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
				require.NoError(t, w.Stop(t.Context()))
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
	for _, clients := range []struct {
		name string
		fx.Option
	}{
		{"no client", fx.Options()},
		{"both", fx.Options(fx.Supply(newSQLite(t)), universal(closedRedis(t)))},
	} {
		for _, mode := range []idworker.Mode{"", idworker.ModeAuto, idworker.ModeDB, idworker.ModeRedis} {
			t.Run(clients.name+"/"+string(mode), func(t *testing.T) {
				c := memcenter.New()
				cfg := idworker.Config{Namespace: "orders", Mode: mode}
				req, err := cfg.Request()
				require.NoError(t, err)
				require.NoError(t, c.Init(t.Context(), req))
				var w *idworker.IdWorker
				a := app(t, &w, fx.Supply(cfg), clients.Option, centered(c))
				a.RequireStart()
				require.Equal(t, "memory", w.Status().Center)
				a.RequireStop()
			})
		}
	}
	one := int64(1)
	for _, cfg := range []idworker.Config{
		{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: &one, Stateless: true}},
		{Namespace: "orders", Mode: idworker.ModeRedisSequence},
	} {
		t.Run("not in mode "+string(cfg.Mode), func(t *testing.T) {
			var w *idworker.IdWorker
			app(t, &w, fx.Supply(cfg), universal(closedRedis(t)), fx.Provide(func() lease.Center { return memcenter.New() }))
			require.NotContains(t, w.Status().Center, "memory")
			require.NoError(t, w.Stop(t.Context()))
		})
	}
}

// A named database is used through a lease.Center of its own.
func TestNamedDatabase(t *testing.T) {
	cfg := idworker.Config{Namespace: "orders"}
	var w *idworker.IdWorker
	a := app(t, &w, fx.Supply(cfg),
		fx.Supply(fx.Annotate(newSQLite(t, cfg), fx.ResultTags(`name:"main"`))),
		fx.Provide(fx.Annotate(func(db *gorm.DB) (*dbseq.Center, error) { return gormdb.Center(db) },
			fx.ParamTags(`name:"main"`), fx.As(new(lease.Center)))),
		closing())
	a.RequireStart()
	require.True(t, ready(w))
	a.RequireStop()
}

func TestTwoNamedWorkers(t *testing.T) {
	type workers struct {
		fx.In
		Orders *idworker.IdWorker `name:"orders"`
		Audit  *idworker.IdWorker `name:"audit"`
	}
	var ws workers
	jssafe := idworker.Config{Namespace: "audit", Preset: "jssafe", Store: idworker.StoreConfig{Quarantine: "never"}}
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
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Named("", jssafe)).Err(), "name is empty")
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Named("x", idworker.Config{Segments: []segment.Config{{Name: "orders"}}})).Err(), "only Module opens segments")
	bad := fx.New(fx.NopLogger, idworker.Named("x", idworker.Config{}), fx.Invoke(fx.Annotate(func(*idworker.IdWorker) {}, fx.ParamTags(`name:"x"`))))
	require.ErrorContains(t, bad.Err(), `idworker "x"`)
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
	require.NotEmpty(t, w.Status().Promise)
	require.ErrorContains(t, w.Reset(t.Context()), "a copied process")
	_, err = idworker.Open(t.Context(), cfg)
	require.ErrorIs(t, err, hostseq.ErrHeld, "another process has it")
	a.RequireStop()
	require.False(t, ready(w))
	next, err := idworker.Open(t.Context(), cfg)
	require.NoError(t, err)
	after, err := next.NextID()
	require.NoError(t, err)
	require.Greater(t, after, id)
	require.NoError(t, next.Stop(t.Context()))
}

func TestOpenWithoutFx(t *testing.T) {
	cfg := idworker.Config{Namespace: "orders"}
	c, err := gormdb.Center(newSQLite(t, cfg))
	require.NoError(t, err)
	defer c.Close()
	w, err := idworker.Open(t.Context(), cfg, idworker.WithCenter(c))
	require.NoError(t, err)
	id, err := w.NextID()
	require.NoError(t, err)
	worker := w.Status().Worker
	require.NoError(t, w.Reset(t.Context()), "as after a restored snapshot")
	require.NotEqual(t, worker, w.Status().Worker)
	next, err := w.NextID()
	require.NoError(t, err)
	require.Greater(t, next, id)
	require.NoError(t, w.Stop(t.Context()))
	require.ErrorContains(t, w.Reset(t.Context()), "stopped")

	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders"})
	require.EqualError(t, err, "idworker: mode auto: no *gorm.DB, redis.UniversalClient or lease.Center: give WithDB(db) or WithRedis(client), or without GORM WithCenter(center) with a center of dbseq.Open; one that is nil counts as none")
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Mode: "db"})
	require.EqualError(t, err, "idworker: mode db: no *gorm.DB and no lease.Center: give WithDB(db), or without GORM WithCenter(center) with a center of dbseq.Open; one that is nil counts as none")
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Mode: "redis"})
	require.EqualError(t, err, "idworker: mode redis: no redis.UniversalClient: give WithRedis(client); one that is nil counts as none")
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{OnLost: "shutdown"}}, idworker.WithCenter(c))
	require.ErrorContains(t, err, "on_lost")
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Segments: []segment.Config{{Name: "bills"}}}, idworker.WithCenter(c))
	require.ErrorContains(t, err, "only Module opens segments and series: use segment.Open")
	_, err = idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Series: []series.Config{{Name: "bills"}}}, idworker.WithCenter(c))
	require.ErrorContains(t, err, "only Module opens segments and series")
}

// A database serves without GORM: its center lends the worker ids and counts the ids for
// times past, and its store of numbers takes the place of the *gorm.DB.
func TestWithoutGORM(t *testing.T) {
	t.Parallel()
	for where, before := range map[idworker.SegmentStore]string{"": "", "db": "", "db+redis": "redis"} {
		t.Run(string(where), func(t *testing.T) {
			dsn := filepath.Join(t.TempDir(), "app.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
			name := namespace(t)
			cfg := idworker.Config{
				Namespace: "orders", Reserved: 1, SegmentStore: where, Store: idworker.StoreConfig{Skew: time.Millisecond},
				Segments: []segment.Config{{Name: name, Start: 1000, Order: segment.OrderStrict}},
			}
			clients := fx.Options()
			if before != "" {
				clients = universal(newRedis(t, testserver.Redis(t)))
			}
			var (
				w       *idworker.IdWorker
				past    *history.Issuer
				s       *idworker.Segments
				center  lease.Center
				numbers segment.Store
			)
			a := app(t, &w, fx.Supply(cfg), clients, fx.Populate(&past, &s, &center, &numbers), fx.Provide(
				func(lc fx.Lifecycle) (lease.Center, error) {
					c, err := dbseq.Open("sqlite", dsn)
					lc.Append(fx.StopHook(c.Close))
					return c, err
				},
				func(lc fx.Lifecycle) (segment.Store, error) {
					s, err := dbseq.OpenSegments("sqlite", dsn)
					lc.Append(fx.StopHook(s.Close))
					return s, err
				},
			))
			a.RequireStart()
			id, err := w.NextIDWait(t.Context())
			require.NoError(t, err)
			require.Positive(t, id)
			require.Contains(t, w.Status().Center, "sqlite")
			at := time.Now().Add(-time.Hour)
			_, err = past.Backfill(at.Add(time.Minute)).NextIDAt(t.Context(), at)
			require.NoError(t, err)
			bills, err := s.Of(name)
			require.NoError(t, err)
			n, err := bills.NextIDWait(t.Context())
			require.NoError(t, err)
			require.EqualValues(t, 1000, n)
			st := s.Status()
			require.Len(t, st, 1)
			require.Contains(t, st[0].Store, "sqlite "+strings.TrimSuffix(dsn, "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"))
			require.Contains(t, st[0].Store, before)
			a.RequireStop()
			_, err = center.(*dbseq.Center).Extras().Lister.Slots(context.Background(), "orders")
			require.ErrorContains(t, err, "closed", "the application has closed its center")
			_, err = numbers.Reserve(context.Background(), numberstore.Request{Name: name, N: 1, Start: 1, Max: 9})
			require.ErrorContains(t, err, "closed")
		})
	}
}

// If the database is down, the error names it.
func TestCenterDownAtStart(t *testing.T) {
	t.Parallel()
	dead := "nobody:secret@tcp(127.0.0.1:1)/app"
	db, err := gorm.Open(mysql.New(mysql.Config{DSN: dead, SkipInitializeWithVersion: true}), &gorm.Config{DisableAutomaticPing: true})
	require.NoError(t, err)
	pool, _ := db.DB()
	t.Cleanup(func() { pool.Close() })
	for name, o := range map[string]fx.Option{
		"127.0.0.1:1": universal(closedRedis(t)),
		"mysql":       fx.Supply(db),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var w *idworker.IdWorker
			a := app(t, &w, fx.Supply(idworker.Config{Namespace: "orders", Wait: 3 * time.Second}), o)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err := a.Start(ctx)
			require.ErrorContains(t, err, name)
			require.ErrorContains(t, err, "connection refused")
			require.NotContains(t, err.Error(), "secret")
			require.NoError(t, ctx.Err(), "wait ends first")
			a.RequireStop()
		})
	}
}

func TestDatabaseFileThatCannotBeOpened(t *testing.T) {
	db := newSQLite(t)
	require.NoError(t, db.Exec("CREATE TABLE snowlease_meta (nonsense TEXT)").Error)
	var w *idworker.IdWorker
	a := app(t, &w, fx.Supply(idworker.Config{Namespace: "orders", Wait: time.Second}, db))
	require.ErrorContains(t, a.Start(t.Context()), "sqlite")
	a.RequireStop()
}

// If a later hook fails, fx stops the worker, and the slot is free at once.
func TestStartThatFailsLaterGivesTheWorkerIDBack(t *testing.T) {
	t.Parallel()
	for _, s := range stores() {
		t.Run(s.name, func(t *testing.T) {
			cfg := idworker.Config{Namespace: namespace(t), Store: idworker.StoreConfig{Quarantine: s.quarantine}}
			var w *idworker.IdWorker
			var c lease.Center
			boom := errors.New("port in use")
			a := app(t, &w, fx.Supply(cfg), s.provide(t), opened(), fx.Populate(&c), fx.Invoke(func(lc fx.Lifecycle, _ *idworker.IdWorker) {
				lc.Append(fx.StartHook(func() error { return boom }))
			}))
			require.ErrorIs(t, a.Start(t.Context()), boom)
			slots, err := c.Extras().Lister.Slots(t.Context(), cfg.Namespace)
			require.NoError(t, err)
			for _, s := range slots {
				require.Empty(t, s.Holder)
			}
			require.Equal(t, snowlease.StateStopped, w.Status().State)
			if closing := c.Extras().Close; closing != nil {
				require.NoError(t, closing())
			}
		})
	}
}

func TestDoubleStartAndStop(t *testing.T) {
	c := memcenter.New()
	cfg := idworker.Config{Namespace: "orders"}
	req, err := cfg.Request()
	require.NoError(t, err)
	require.NoError(t, c.Init(t.Context(), req))
	w, lc := started(t, cfg, centered(c))
	lc.RequireStart()
	require.Error(t, lc.Start(t.Context()), "a second start is refused")
	lc.RequireStop()
	require.NoError(t, w.Stop(t.Context()), "a second stop does nothing")
}

// world is a center and a worker in a synctest bubble.
func world(t *testing.T, cfg idworker.Config, f func(t *testing.T, c *memcenter.Center, w *idworker.IdWorker, lc *fxtest.Lifecycle)) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		cfg.Namespace = "orders"
		c := memcenter.New()
		req, err := cfg.Request()
		require.NoError(t, err)
		require.NoError(t, c.Init(t.Context(), req))
		w, lc := started(t, cfg, centered(c))
		f(t, c, w, lc)
		require.NoError(t, w.Stop(context.Background()))
	})
}

// ahead returns how far the next id of w is ahead of the clock.
func ahead(t *testing.T, w *idworker.IdWorker) time.Duration {
	t.Helper()
	id, err := w.NextID()
	require.NoError(t, err)
	p, err := w.Decode(id)
	require.NoError(t, err)
	return time.Until(p.Time)
}

// If the center may have forgotten grants, a start issues ids shortly after the skew. They are
// ahead of the clock until the clock catches up.
func TestQuarantineAtStart(t *testing.T) {
	world(t, idworker.Config{}, func(t *testing.T, c *memcenter.Center, w *idworker.IdWorker, lc *fxtest.Lifecycle) {
		c.Wipe()
		began := time.Now()
		lc.RequireStart()
		require.LessOrEqual(t, time.Since(began), 3500*time.Millisecond)
		require.True(t, ready(w))
		require.InDelta(t, 30, ahead(t, w).Seconds(), 1)
		require.InDelta(t, 30, w.Status().Lead.Seconds(), 1)
		time.Sleep(32 * time.Second)
		require.InDelta(t, 0, ahead(t, w), float64(2*time.Millisecond))
	})
}

func TestQuarantineAtStartWithExactTimes(t *testing.T) {
	world(t, idworker.Config{Store: idworker.StoreConfig{ExactTimes: true}}, func(t *testing.T, c *memcenter.Center, _ *idworker.IdWorker, lc *fxtest.Lifecycle) {
		c.Wipe()
		began := time.Now()
		err := lc.Start(t.Context())
		require.ErrorAs(t, err, new(*lease.QuarantineError))
		require.ErrorContains(t, err, "until 2026-11-20T12:00:32.001Z")
		require.ErrorContains(t, err, "start again then, or raise wait (10s)")
		require.ErrorContains(t, err, "without store.exact_times")
		require.Zero(t, time.Since(began), "at once")
	})
	world(t, idworker.Config{Store: idworker.StoreConfig{ExactTimes: true}, Wait: time.Minute}, func(t *testing.T, c *memcenter.Center, w *idworker.IdWorker, lc *fxtest.Lifecycle) {
		c.Wipe()
		require.NoError(t, lc.Start(t.Context()))
		require.InDelta(t, 0, ahead(t, w), float64(2*time.Millisecond))
	})
}

// An interrupted start says so in one line, and does not advise to wait longer.
func TestInterruptedStart(t *testing.T) {
	world(t, idworker.Config{}, func(t *testing.T, c *memcenter.Center, _ *idworker.IdWorker, lc *fxtest.Lifecycle) {
		c.Wipe()
		ctx, cancel := context.WithCancelCause(t.Context())
		terminated := errors.New("terminated signal received")
		time.AfterFunc(time.Second, func() { cancel(terminated) })
		err := lc.Start(ctx)
		require.ErrorIs(t, err, terminated)
		require.ErrorAs(t, err, new(*lease.QuarantineError))
		require.Regexp(t, `^snowlease: borrow a worker id of namespace "orders" from memory \(tried for 1s\): stopped while waiting: terminated signal received; the last answer was: lease: .* earlier grants may still be in use$`, err.Error())
	})
}

// After a Reset during a quarantine, no ids are issued for a moment.
func TestQuarantineAtReset(t *testing.T) {
	world(t, idworker.Config{Wait: time.Second}, func(t *testing.T, c *memcenter.Center, w *idworker.IdWorker, lc *fxtest.Lifecycle) {
		lc.RequireStart()
		c.Wipe()
		require.ErrorContains(t, w.Reset(t.Context()), "raise wait (1s)")
		synctest.Wait()
		require.False(t, ready(w))
		require.Equal(t, snowlease.StateQuarantined, w.Status().State)
		_, err := w.NextID()
		require.ErrorIs(t, err, snowlease.ErrNotStarted)
		var q *lease.QuarantineError
		require.ErrorAs(t, err, &q)
		require.ErrorAs(t, w.Healthy(t.Context()), &q)
		require.NotEmpty(t, w.Status().Error)
		began := time.Now()
		_, err = w.NextIDWait(context.Background())
		require.NoError(t, err, "it waits through the quarantine")
		require.InDelta(t, q.Wait().Seconds(), time.Since(began).Seconds(), 1)
		require.True(t, ready(w))
	})
}

func TestCenterDownWhileRunning(t *testing.T) {
	world(t, idworker.Config{}, func(t *testing.T, c *memcenter.Center, w *idworker.IdWorker, lc *fxtest.Lifecycle) {
		lc.RequireStart()
		c.Intercept(func(context.Context, string, bool) error { return errors.New("connection refused") })
		time.Sleep(25 * time.Second)
		require.NoError(t, w.Healthy(t.Context()))
		require.Contains(t, w.Status().Error, "connection refused")
		time.Sleep(10 * time.Second)
		_, err := w.NextID()
		require.ErrorIs(t, err, snowlease.ErrLeaseExpired)
		require.ErrorContains(t, err, "connection refused")
		require.Equal(t, snowlease.StateExpired, w.Status().State)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.NextIDs(ctx, make([]int64, 3)), snowlease.ErrLeaseExpired)

		waiting := make(chan error)
		go func() {
			_, err := w.NextIDWait(context.Background())
			waiting <- err
		}()
		c.Intercept(nil)
		require.NoError(t, <-waiting, "recovery without a restart")
		require.True(t, ready(w))
		st := w.Status()
		require.Greater(t, st.Failures, int64(5))
		require.Equal(t, int64(2), st.Waits)
	})
}

func TestOnLost(t *testing.T) {
	for _, c := range []struct {
		onLost idworker.OnLost
		code   int
	}{{idworker.OnLostContinue, -1}, {idworker.OnLostShutdown, 1}} {
		t.Run(string(c.onLost), func(t *testing.T) {
			center := memcenter.New()
			cfg := idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{OnLost: c.onLost, TTL: 300 * time.Millisecond}, Store: idworker.StoreConfig{Skew: 10 * time.Millisecond}}
			req, err := cfg.Request()
			require.NoError(t, err)
			require.NoError(t, center.Init(t.Context(), req))
			var w *idworker.IdWorker
			var j journal
			a := app(t, &w, fx.Supply(cfg), fx.Provide(func() lease.Center { return center }), j.provide())
			done := a.Wait()
			a.RequireStart()
			before, err := w.NextID()
			require.NoError(t, err)
			center.Advance(time.Minute) // every lease has expired
			require.Eventually(t, func() bool { return w.Status().Losses == 1 }, 30*time.Second, time.Millisecond)
			if c.code < 0 {
				require.Eventually(t, func() bool { return ready(w) }, 30*time.Second, time.Millisecond)
				after, err := w.NextIDWait(t.Context())
				require.NoError(t, err)
				require.Greater(t, after, before)
				require.Empty(t, done)
			} else {
				select {
				case end := <-done:
					require.Equal(t, c.code, end.ExitCode)
				case <-time.After(30 * time.Second):
					t.Fatal("the application goes on")
				}
				require.Contains(t, j.String(), "shutting down")
			}
			a.RequireStop()
		})
	}
}

// To fx, a center whose own dependency is missing is absent, so that the worker id comes from
// the Redis of the graph. Whoever asks for the center gets the error.
func TestModuleCenterWithAMissingDependency(t *testing.T) {
	t.Parallel()
	type missing struct{ lease.Center }
	start := func(more ...fx.Option) (string, error) {
		var w *idworker.IdWorker
		app := fx.New(fx.Supply(idworker.Config{Namespace: "orders"}), universal(closedRedis(t)),
			fx.Provide(func(m missing) lease.Center { return m }), idworker.Module, fx.Populate(&w), fx.NopLogger, fx.Options(more...))
		if app.Err() != nil {
			return "", app.Err()
		}
		return w.Status().Center, nil
	}
	center, err := start()
	require.NoError(t, err)
	require.Contains(t, center, "redis")
	_, err = start(fx.Invoke(func(lease.Center) {}))
	require.ErrorContains(t, err, "missing type: idworker_test.missing")
	_, err = start(fx.Provide(func(missing) segment.Store { return nil }), fx.Invoke(func(segment.Store) {}))
	require.ErrorContains(t, err, "missing type: idworker_test.missing")
}
