package idworker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/libtnb/sqlite"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
)

// On every store, numbers continue across applications.
func TestSegments(t *testing.T) {
	t.Parallel()
	mariadb := func(t testing.TB) fx.Option { return fx.Supply(openDB(t, mysql.Open(testserver.MariaDB(t)))) }
	server := func(t testing.TB) fx.Option { return universal(newRedis(t, testserver.Redis(t))) }
	for _, c := range []struct {
		name    string
		store   idworker.SegmentStore
		shown   string
		clients func(testing.TB) fx.Option
	}{
		{"sqlite", "", "sqlite", func(t testing.TB) fx.Option { return fx.Supply(newSQLite(t)) }},
		{"mariadb", idworker.SegmentStoreDB, "mysql", mariadb},
		{"mysql", idworker.SegmentStoreDB, "mysql", func(t testing.TB) fx.Option {
			return fx.Supply(openDB(t, mysql.Open(testserver.MySQL(t))))
		}},
		{"postgres", "", "postgres", func(t testing.TB) fx.Option {
			return fx.Supply(openDB(t, postgres.Open(testserver.Postgres(t))))
		}},
		{"miniredis", "", "redis", func(t testing.TB) fx.Option { return universal(newRedis(t, miniredis.RunT(t).Addr())) }},
		{"redis", idworker.SegmentStoreRedis, "redis", server},
		{"dispenser", idworker.SegmentStoreDBRedis, " before mysql", func(t testing.TB) fx.Option {
			return fx.Options(mariadb(t), server(t))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := idworker.Config{SegmentStore: c.store, Segments: []segment.Config{
				{Name: "a-" + namespace(t), Start: 1000, Order: segment.OrderStrict},
				{Name: "b-" + namespace(t), Start: 5},
			}}
			if c.name == "miniredis" {
				cfg.Store.Quarantine = lease.QuarantineNever // it has no incarnation
			}
			orders, members := cfg.Segments[0].Name, cfg.Segments[1].Name
			clients := c.clients(t)
			if c.shown == "redis" { // which creates no name by itself: it may have lost it
				require.NoError(t, fx.New(fx.NopLogger, clients, fx.Invoke(func(r redis.UniversalClient) error {
					var opts []redisseq.Option
					if cfg.Store.Quarantine != "" {
						opts = append(opts, redisseq.WithQuarantine(lease.QuarantineNever))
					}
					store, err := redissegments.New(r, opts...)
					require.NoError(t, err)
					for _, g := range cfg.Segments {
						require.NoError(t, store.Create(t.Context(), g.Name, g.Start))
					}
					return nil
				})).Err())
			}
			var last int64
			for range 2 {
				var s *idworker.Segments
				a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg), clients, fx.Populate(&s))
				_, err := s.Of("others")
				require.ErrorContains(t, err, fmt.Sprintf("configured: %q", []string{orders, members}))
				g, err := s.Of(orders)
				require.NoError(t, err)
				_, err = g.NextID()
				require.ErrorIs(t, err, snowlease.ErrNotStarted)
				require.ErrorContains(t, err, "issues from Start on, which is OnStart with fx")
				require.ErrorIs(t, s.Healthy(t.Context()), snowlease.ErrNotStarted)
				require.Empty(t, s.Status())
				a.RequireStart()
				require.NoError(t, s.Healthy(t.Context()))

				n, err := g.NextID()
				require.NoError(t, err)
				if last == 0 {
					require.Equal(t, int64(1000), n)
				} else {
					require.Equal(t, last+1, n)
				}
				ids := make([]int64, 3)
				require.NoError(t, g.NextIDs(t.Context(), ids))
				last, err = g.NextIDWait(t.Context())
				require.NoError(t, err)
				require.Equal(t, n+4, last)
				m, err := s.Of(members)
				require.NoError(t, err)
				n, err = m.NextID()
				require.NoError(t, err)
				require.GreaterOrEqual(t, n, int64(5))
				require.Less(t, n, int64(1000))
				st := s.Status()
				require.Len(t, st, 2)
				require.Contains(t, st[0].Store, c.shown)
				require.Equal(t, int64(5), st[0].Issued)
				require.Equal(t, members, m.Status().Name)
				a.RequireStop()
				_, err = g.NextID()
				require.ErrorIs(t, err, segment.ErrClosed)
			}
		})
	}
}

// If the store is down, the error names it and comes before the start's context ends.
func TestNumbersDownAtStart(t *testing.T) {
	t.Parallel()
	for _, cfg := range []idworker.Config{
		{Mode: idworker.ModeLocal, Segments: []segment.Config{{Name: "orders"}}, SegmentStore: idworker.SegmentStoreRedis, Wait: 3 * time.Second},
		{Mode: idworker.ModeRedisSequence, Namespace: "orders", Wait: 3 * time.Second},
	} {
		invoke := fx.Invoke(func(*idworker.Segments) {})
		if cfg.Mode == idworker.ModeRedisSequence {
			invoke = fx.Invoke(func(*idworker.IdWorker) {})
		}
		t.Run(string(cfg.Mode), func(t *testing.T) {
			t.Parallel()
			a := fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), universal(closedRedis(t)), invoke)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			require.ErrorContains(t, a.Start(ctx), "connection refused")
			require.NoError(t, ctx.Err(), "wait ends first")
		})
	}
}

func TestSegmentsStartOnce(t *testing.T) {
	lc := fxtest.NewLifecycle(t)
	require.NoError(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(newSQLite(t), idworker.Config{Segments: []segment.Config{{Name: "orders"}}}),
		fx.Decorate(func() fx.Lifecycle { return lc }), fx.Invoke(func(*idworker.Segments) {})).Err())
	lc.RequireStart().RequireStop()
	require.ErrorIs(t, lc.Start(t.Context()), segment.ErrClosed)
}

// Warnings about the store are logged once.
func TestSegmentsWarn(t *testing.T) {
	db := openDB(t, sqlite.Open(":memory:"))
	pool, err := db.DB()
	require.NoError(t, err)
	pool.SetMaxOpenConns(1)
	server := universal(newRedis(t, testserver.Redis(t)))
	for _, where := range []idworker.SegmentStore{idworker.SegmentStoreDB, idworker.SegmentStoreDBRedis} {
		var j journal
		cfg := idworker.Config{SegmentStore: where, Segments: []segment.Config{
			{Name: namespace(t), Order: segment.OrderStrict}, {Name: namespace(t), Order: segment.OrderStrict},
		}}
		a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg, db), server, j.provide(), fx.Invoke(func(*idworker.Segments) {}))
		a.RequireStart().RequireStop()
		require.Equal(t, 1, strings.Count(j.String(), "shares the application's connection pool"), j.String())
		require.Equal(t, 2, strings.Count(j.String(), "idworker segment opened"))
	}
}

func TestSegmentsThatCannotBe(t *testing.T) {
	orders := []segment.Config{{Name: "orders"}}
	never := []segment.Config{{Name: "orders"}, {Name: "members", Create: segment.CreateNever}}
	db, client := fx.Supply(newSQLite(t)), universal(newRedis(t, miniredis.RunT(t).Addr()))
	for _, c := range []struct {
		says    string
		cfg     idworker.Config
		clients fx.Option
	}{
		{"segment_store auto: no *gorm.DB, redis.UniversalClient or segment.Store in the fx graph: provide one, not nil, with its dependencies", idworker.Config{Segments: orders}, fx.Options()},
		{`segment_store auto: there are both a *gorm.DB and a Redis client: set "db", "redis" or "db+redis", which has the numbers so far`, idworker.Config{Segments: orders}, fx.Options(db, client)},
		{"segment_store db: no *gorm.DB and no segment.Store in the fx graph: provide one", idworker.Config{Segments: orders, SegmentStore: "db"}, client},
		{"segment_store redis: no redis", idworker.Config{Segments: orders, SegmentStore: "redis"}, db},
		{"segment_store db+redis: no redis", idworker.Config{Segments: orders, SegmentStore: "db+redis"}, db},
		{`segment_store "etcd" is unknown`, idworker.Config{SegmentStore: "etcd"}, db},
		{`"orders" is used twice`, idworker.Config{Segments: append(orders, orders...)}, db},
		{"wait -1s is negative", idworker.Config{Segments: orders, Wait: -time.Second}, db},
		{"segments[0]", idworker.Config{Segments: []segment.Config{{Name: "a b"}}}, db},
		{`"members"`, idworker.Config{Segments: never, Wait: 5 * time.Second}, db},
	} {
		t.Run(c.says, func(t *testing.T) {
			var s *idworker.Segments
			a := fx.New(fx.NopLogger, idworker.Module, fx.Supply(c.cfg), c.clients, fx.Populate(&s))
			err := a.Err()
			if err == nil {
				err = a.Start(t.Context())
			}
			require.ErrorContains(t, err, c.says)
			c.cfg.Namespace = "orders"
			if c.cfg.SegmentStore == "etcd" || len(c.cfg.Segments) > 0 && c.cfg.Segments[0].Name == "a b" {
				require.ErrorContains(t, c.cfg.Validate(), c.says)
			}
		})
	}
	var s *idworker.Segments
	a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(idworker.Config{}), fx.Populate(&s))
	a.RequireStart()
	_, err := s.Of("orders")
	require.ErrorContains(t, err, `"orders" is not configured (configured: [])`)
	a.RequireStop()
}
