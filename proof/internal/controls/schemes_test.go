package controls_test

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/libtnb/sqlite"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/proof/internal/controls"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) {
	// GORM's cache of prepared statements never ends its goroutine.
	testserver.Main(m, goleak.IgnoreTopFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}

const pool = 8

// A world is a store and the processes that use it.
type world struct {
	controls.Scheme
	backend controls.Backend
	redis   *miniredis.Miniredis
}

func newWorld(t *testing.T, s controls.Scheme) *world {
	t.Helper()
	w := &world{Scheme: s}
	if s.Store == controls.SQL {
		dsn := "file:" + filepath.Join(t.TempDir(), "app.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)"
		w.open(t, sqlite.Open(dsn))
		return w
	}
	w.redis = miniredis.NewMiniRedis()
	require.NoError(t, w.redis.Start())
	t.Cleanup(w.redis.Close)
	w.dial(t, w.redis.Addr())
	return w
}

func (w *world) open(t *testing.T, d gorm.Dialector) {
	t.Helper()
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	conns, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = conns.Close() })
	w.backend.DB = db
}

func (w *world) dial(t *testing.T, addr string) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	w.backend.Redis = client
}

func each(t *testing.T, f func(t *testing.T, w *world)) {
	t.Helper()
	for _, s := range controls.Schemes() {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			f(t, newWorld(t, s))
		})
	}
}

func scheme(t *testing.T, name string) *world {
	t.Helper()
	for _, s := range controls.Schemes() {
		if s.Name == name {
			return newWorld(t, s)
		}
	}
	t.Fatalf("there is no scheme %q", name)
	return nil
}

func (w *world) process(c controls.Clock) lease.Center { return w.New(w.backend, c) }

func layout() snowflake.Layout {
	return snowflake.Layout{Epoch: 1577808000000, TimeUnit: time.Millisecond, WorkerBits: 3, SequenceBits: 2}
}

func request() lease.Request {
	r := keeper.NewRequest("orders", layout())
	r.Owner = lease.NewOwner()
	return r
}

func acquire(t *testing.T, c lease.Center) lease.Grant {
	t.Helper()
	g, err := c.Acquire(t.Context(), request())
	require.NoError(t, err)
	return g
}

// at returns a clock that is off by d.
func at(d time.Duration) controls.Clock {
	return func() time.Time { return time.Now().Add(d) }
}

// Every scheme is right as long as nothing goes wrong: no more processes than worker
// ids, one clock, and each process stopped before another replaces it.
func TestEverySchemeWorksInTheGoodCase(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) { w.goodCase(t) })
	for _, server := range []struct {
		name   string
		store  controls.Store
		attach func(*testing.T, *world)
	}{
		{"redis", controls.Redis, func(t *testing.T, w *world) { w.dial(t, testserver.NewRedis(t).Addr()) }},
		{"mariadb", controls.SQL, func(t *testing.T, w *world) { w.open(t, mysql.Open(testserver.MariaDB(t))) }},
		{"postgresql", controls.SQL, func(t *testing.T, w *world) { w.open(t, postgres.Open(testserver.Postgres(t))) }},
	} {
		for _, s := range controls.Schemes() {
			if s.Store != server.store {
				continue
			}
			t.Run(s.Name+" on "+server.name, func(t *testing.T) {
				t.Parallel()
				w := &world{Scheme: s}
				server.attach(t, w)
				w.goodCase(t)
			})
		}
	}
}

func (w *world) goodCase(t *testing.T) {
	var (
		mu      sync.Mutex
		ids     = map[int64]bool{}
		workers = map[int64]bool{}
		running sync.WaitGroup
		keepers [pool]*keeper.Keeper
	)
	for i := range keepers {
		g, err := generator.New(layout())
		require.NoError(t, err)
		k, err := keeper.New(keeper.Config{Center: w.process(nil), Generator: g, Request: request()})
		require.NoError(t, err)
		keepers[i] = k
		running.Go(func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := k.Start(ctx); err != nil {
				t.Error(err)
				return
			}
			batch := make([]int64, 500)
			if err := g.NextIDs(ctx, batch); err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			workers[k.Status().Grant.Worker] = true
			for _, id := range batch {
				ids[id] = true
			}
		})
	}
	running.Wait()
	require.Len(t, workers, pool)
	require.Len(t, ids, pool*500)
	for _, k := range keepers {
		require.NoError(t, k.Stop(t.Context()))
	}
	// Whichever process stops first makes room for the next.
	for range pool + 1 {
		c := w.process(nil)
		g := acquire(t, c)
		require.NoError(t, c.Release(t.Context(), g, g.Now))
	}
}

func TestGrantTellsTheProcessesOwnClock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		now := time.UnixMilli(1_800_000_000_000)
		c := w.process(func() time.Time { return now })
		require.NotContains(t, lease.Name(c), "controls.", "it has a name for logs")
		g := acquire(t, c)
		require.Equal(t, now.UnixMilli(), g.Now)
		require.Equal(t, now.UnixMilli()-1, g.Floor)
		require.Greater(t, time.UnixMilli(g.Ceiling), now.AddDate(9, 0, 0))
		now = now.Add(-time.Hour)
		again, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.Equal(t, now.UnixMilli(), again.Now)
		again.Now = g.Now
		require.Equal(t, g, again)
	})
}

func TestInvalidRequest(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, w *world) {
		_, err := w.process(nil).Acquire(t.Context(), lease.Request{})
		require.ErrorContains(t, err, "lease: request")
	})
}

// A ninth process on eight worker ids.
func TestOneProcessTooMany(t *testing.T) {
	t.Parallel()
	seesThatItIsFull := map[string]bool{"get-then-set": true, "client-clock": true}
	each(t, func(t *testing.T, w *world) {
		c, workers := w.process(nil), map[int64]bool{}
		for range pool {
			workers[acquire(t, c).Worker] = true
		}
		require.Len(t, workers, pool)
		g, err := c.Acquire(t.Context(), request())
		if seesThatItIsFull[w.Name] {
			require.ErrorContains(t, err, "every worker id is in use")
			return
		}
		require.NoError(t, err)
		require.Contains(t, workers, g.Worker, "a live one's")
	})
}

func TestCounterExpires(t *testing.T) {
	t.Parallel()
	w := scheme(t, "counter")
	c := w.process(nil)
	g := acquire(t, c)
	w.redis.FastForward(2*time.Hour - time.Second)
	require.NotEqual(t, g.Worker, acquire(t, c).Worker)
	w.redis.FastForward(2*time.Hour + time.Second)
	require.Equal(t, g.Worker, acquire(t, c).Worker)
}

func TestLeastScoreRefreshesAnothers(t *testing.T) {
	t.Parallel()
	w := scheme(t, "least-score")
	old := acquire(t, w.process(at(-time.Hour)))
	for range pool - 1 {
		acquire(t, w.process(nil))
	}
	g := acquire(t, w.process(nil))
	require.Equal(t, old.Worker, g.Worker)
	_, err := w.process(nil).Renew(t.Context(), old)
	require.NoError(t, err, "its former user refreshes it")
	require.NoError(t, w.process(nil).Release(t.Context(), old, old.Now))
	require.Equal(t, g.Worker, acquire(t, w.process(nil)).Worker, "and gives it away")
}

func TestGetThenSet(t *testing.T) {
	t.Parallel()
	w := scheme(t, "get-then-set")
	c := w.process(nil)
	g := acquire(t, c)
	w.redis.FastForward(g.TTL * 2 / 3)
	for range pool - 1 {
		acquire(t, c)
	}
	_, err := c.Acquire(t.Context(), request())
	require.Error(t, err)
	w.redis.FastForward(g.TTL / 2)
	require.Equal(t, g.Worker, acquire(t, c).Worker)

	w.redis.FastForward(g.TTL * 2 / 3)
	_, err = c.Renew(t.Context(), g)
	require.NoError(t, err, "the former user sets the expiry of another's key")
	require.NoError(t, c.Release(t.Context(), g, g.Now), "and deletes it")
	w.redis.SetError("down")
	_, err = c.Renew(t.Context(), g)
	require.NoError(t, err, "what it does not notice")
	require.Zero(t, acquire(t, c).Worker, "a counter that cannot be reached")
}

func TestClientClock(t *testing.T) {
	t.Parallel()
	w := scheme(t, "client-clock")
	req := request()
	c := w.process(nil)
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	again, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	require.Equal(t, g.Worker, again.Worker, "who asks again")

	require.NoError(t, c.Release(t.Context(), g, g.Now))
	_, err = w.process(at(-time.Minute)).Acquire(t.Context(), request())
	require.ErrorContains(t, err, "ahead of this clock")
	// The process that waits already has it; no other gets it.
	for range pool - 1 {
		require.NotEqual(t, g.Worker, acquire(t, c).Worker)
	}
	_, err = c.Acquire(t.Context(), request())
	require.ErrorContains(t, err, "every worker id is in use")

	fast := acquire(t, w.process(at(g.TTL+time.Second)))
	_, err = c.Renew(t.Context(), fast)
	require.NoError(t, err)
	_, err = c.Renew(t.Context(), g)
	require.NoError(t, err, "who has lost it goes on")
	require.NoError(t, c.Release(t.Context(), g, g.Now), "but does not give it away")
	_, err = c.Acquire(t.Context(), request())
	require.ErrorContains(t, err, "every worker id is in use")
}

// The behavior of each scheme when its store does not answer.
func TestStoreDown(t *testing.T) {
	t.Parallel()
	goesOn := map[string]bool{"ticket": true, "counter": true, "get-then-set": true}
	each(t, func(t *testing.T, w *world) {
		c := w.process(nil)
		g := acquire(t, c)
		if w.redis != nil {
			w.redis.SetError("down")
		} else {
			conns, err := w.backend.DB.DB()
			require.NoError(t, err)
			require.NoError(t, conns.Close())
		}
		_, err := c.Renew(t.Context(), g)
		require.Equal(t, goesOn[w.Name], err == nil, fmt.Sprint(err))
		if w.Name != "get-then-set" {
			_, err = c.Acquire(t.Context(), request())
			require.Error(t, err)
		}
	})
}
