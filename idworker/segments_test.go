package idworker_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

// In every kind of store, numbers continue across applications of a namespace, and across all if
// they have one of their own.
func TestSegments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		store idworker.SegmentStore
		shown string
	}{
		{"sqlite", "", "sqlite"},
		{"redis", idworker.SegmentStoreRedis, "redis"},
		{"dispenser", idworker.SegmentStoreDBRedis, " before sqlite"},
	} {
		t.Run(c.name, func(t *testing.T) {
			shop, staging, common := namespace(t), namespace(t), namespace(t)
			cfg := idworker.Config{SegmentStore: c.store, Segments: []numbers.SegmentConfig{
				{Name: "orders", Start: 1000, Strict: true},
				{Name: "members", Start: 5},
				{Namespace: common, Name: "shared", Start: 7, Strict: true},
			}}
			clients := fx.Supply(newSQLite(t))
			if c.store != "" {
				client := newRedis(t, testserver.Redis(t))
				clients = fx.Options(clients, universal(client))
				store, err := redisnumbers.New(client)
				require.NoError(t, err)
				for name, start := range map[string]int64{ // Redis creates no name by itself: it may have lost it
					shop + "/orders": 1000, shop + "/members": 5, staging + "/orders": 1000, staging + "/members": 5, common + "/shared": 7,
				} {
					require.NoError(t, store.Create(t.Context(), name, start))
				}
			}
			for round, first := range []int64{1000, 1005, 1000} {
				cfg.Namespace = []string{shop, shop, staging}[round]
				var s *idworker.Numbers
				a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg), clients, fx.Populate(&s))
				_, err := s.Segment("others")
				require.ErrorContains(t, err, fmt.Sprintf("configured: %q", []string{"members", "orders", "shared"}))
				g, err := s.Segment("orders")
				require.NoError(t, err)
				_, err = g.Next(t.Context())
				require.ErrorIs(t, err, snowlease.ErrNotStarted)
				require.ErrorIs(t, s.Healthy(), snowlease.ErrNotStarted)
				require.Empty(t, s.Status())
				a.RequireStart()
				require.NoError(t, s.Healthy())

				ids := make([]int64, 5)
				require.NoError(t, g.NextIDs(t.Context(), ids))
				require.Equal(t, first, ids[0])
				require.Equal(t, ids[0]+4, ids[4])
				m, err := s.Segment("members")
				require.NoError(t, err)
				n, err := m.Next(t.Context())
				require.NoError(t, err)
				require.True(t, n >= 5 && n < 1000, n)
				shared, err := s.Segment("shared")
				require.NoError(t, err)
				n, err = shared.Next(t.Context())
				require.NoError(t, err)
				require.EqualValues(t, 7+round, n)
				st := s.Status()
				require.Len(t, st, 3)
				require.Contains(t, st[1].Store, c.shown)
				require.Equal(t, int64(5), st[1].Issued)
				require.Equal(t, cfg.Namespace+"/members", m.Status().Name)
				a.RequireStop()
				_, err = g.Next(t.Context())
				require.ErrorIs(t, err, numbers.ErrClosed)
			}
		})
	}
}

// Segments in Redis wait for replicas too. Those of db+redis do not need to: the database
// keeps them.
func TestWaitReplicasOfSegments(t *testing.T) {
	t.Parallel()
	client := newRedis(t, testserver.Redis(t))
	store, err := redisnumbers.New(client)
	require.NoError(t, err)
	for where, want := range map[idworker.SegmentStore]error{idworker.SegmentStoreRedis: redisseq.ErrNotReplicated, idworker.SegmentStoreDBRedis: nil} {
		g := numbers.SegmentConfig{Namespace: namespace(t), Name: "orders", Strict: true}
		if want != nil {
			require.NoError(t, store.Create(t.Context(), g.Namespace+"/orders", 1))
		}
		var s *idworker.Numbers
		a := fxtest.New(t, fx.NopLogger, idworker.Module, universal(client), fx.Supply(newSQLite(t)), fx.Populate(&s),
			fx.Supply(idworker.Config{Namespace: "shop", SegmentStore: where, Store: idworker.StoreConfig{WaitReplicas: 1}, Segments: []numbers.SegmentConfig{g}}))
		a.RequireStart()
		numbers, err := s.Segment(g.Name)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { // give up at the first failure
			defer cancel()
			for numbers.Status().Failures == 0 && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
		}()
		_, err = numbers.Next(ctx)
		cancel()
		require.ErrorIs(t, err, want, where)
		a.RequireStop()
	}
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
		cfg := idworker.Config{Namespace: namespace(t), SegmentStore: where, Segments: []numbers.SegmentConfig{
			{Name: "a", Strict: true}, {Name: "b", Strict: true},
		}}
		a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg, db), server, j.provide(), fx.Invoke(func(*idworker.Numbers) {}))
		a.RequireStart().RequireStop()
		require.Equal(t, 1, strings.Count(j.String(), "shares the application's connection pool"), j.String())
		require.Equal(t, 2, strings.Count(j.String(), "idworker segment opened"))
	}
}

func TestSegmentsThatCannotBe(t *testing.T) {
	orders := []numbers.SegmentConfig{{Name: "orders"}}
	never := []numbers.SegmentConfig{{Name: "orders"}, {Name: "members", MustExist: true}}
	db, client := fx.Supply(newSQLite(t)), universal(newRedis(t, miniredis.RunT(t).Addr()))
	strict := []numbers.SegmentConfig{{Name: "orders", Strict: true}}
	locked := miniredis.RunT(t)
	locked.RequireAuth("right")
	refused := fx.Options(db, universal(newRedis(t, locked.Addr())))
	for _, c := range []struct {
		says    string
		cfg     idworker.Config
		clients fx.Option
	}{
		{"segment_store auto: no *gorm.DB, redis.UniversalClient or numbers.Store in the fx graph: provide one, not nil, with its dependencies", idworker.Config{Segments: orders}, fx.Options()},
		{`segment_store auto: there are both a *gorm.DB and a Redis client: set "db", "redis" or "db+redis", which has the numbers so far`, idworker.Config{Segments: orders}, fx.Options(db, client)},
		{"segment_store db: no *gorm.DB and no numbers.Store in the fx graph: provide one", idworker.Config{Segments: orders, SegmentStore: "db"}, client},
		{"segment_store redis: no redis", idworker.Config{Segments: orders, SegmentStore: "redis"}, db},
		{"segment_store db+redis: no redis", idworker.Config{Segments: orders, SegmentStore: "db+redis"}, db},
		{`segment_store "etcd" is unknown`, idworker.Config{SegmentStore: "etcd"}, db},
		{`"orders" is used twice`, idworker.Config{Segments: append(orders, orders...)}, db},
		{"wait -1s is negative", idworker.Config{Segments: orders, Wait: -time.Second}, db},
		{"segments[0]", idworker.Config{Segments: []numbers.SegmentConfig{{Name: "a b"}}}, db},
		{"open \"orders/orders\": segment: no number available: redisseq: reserve", idworker.Config{Segments: orders, SegmentStore: "redis", Wait: time.Hour}, refused},
		{"open \"orders/orders\": segment: no number available: redisseq: look at", idworker.Config{Segments: strict, SegmentStore: "redis", Wait: time.Hour}, refused},
		{"open \"orders/orders\": segment: no number available: redisseq: install", idworker.Config{Segments: strict, SegmentStore: "db+redis", Wait: time.Hour}, refused},
		{`"orders/members"`, idworker.Config{Segments: never, Wait: 5 * time.Second}, db},
	} {
		t.Run(c.says, func(t *testing.T) {
			var s *idworker.Numbers
			c.cfg.Namespace = "orders"
			a := fx.New(fx.NopLogger, idworker.Module, fx.Supply(c.cfg), c.clients, fx.Populate(&s))
			err := a.Err()
			if err == nil {
				err = a.Start(t.Context())
			}
			require.ErrorContains(t, err, c.says)
			if c.cfg.SegmentStore == "etcd" || len(c.cfg.Segments) > 0 && c.cfg.Segments[0].Name == "a b" {
				require.ErrorContains(t, c.cfg.Validate(), c.says)
			}
		})
	}
	var s *idworker.Numbers
	a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(idworker.Config{Namespace: "orders"}), fx.Populate(&s)).RequireStart()
	_, err := s.Segment("orders")
	require.ErrorContains(t, err, `"orders" is not configured (configured: [])`)
	a.RequireStop()
}

// A program without fx opens the numbers of its configuration, and its worker with the same one.
func TestOpenNumbers(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{Namespace: namespace(t), Segments: []numbers.SegmentConfig{{Name: "members", Start: 500}}, Series: []numbers.SeriesConfig{{Name: "bills", Period: numbers.Day}}}
	db := newSQLite(t)
	center := sqlCenter(t, db)
	initialize(t, center, cfg)
	for _, clients := range []idworker.Clients{{DB: db}, {Center: center}} {
		w, err := idworker.Open(t.Context(), cfg, clients)
		require.NoError(t, err)
		n, err := idworker.OpenNumbers(t.Context(), cfg, clients)
		require.NoError(t, err)
		require.NoError(t, n.Healthy())
		members, err := n.Segment("members")
		require.NoError(t, err)
		first, err := members.Next(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, first, int64(500))
		bills, err := n.Series("bills")
		require.NoError(t, err)
		_, err = bills.Next(t.Context(), "")
		require.NoError(t, err)
		require.NoError(t, n.Close())
		_, err = members.Next(t.Context())
		require.ErrorIs(t, err, numbers.ErrClosed)
		require.NoError(t, w.Close())
	}
	fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg), centered(center), fx.Invoke(func(*idworker.Numbers) {})).RequireStart().RequireStop()
	_, err := idworker.OpenNumbers(t.Context(), cfg, idworker.Clients{})
	require.ErrorContains(t, err, "no *gorm.DB, redis.UniversalClient or numbers.Store: give Clients a DB")
	cfg.Wait, cfg.Segments[0].MustExist, cfg.Segments[0].Name = time.Millisecond, true, "nobody"
	_, err = idworker.OpenNumbers(t.Context(), cfg, idworker.Clients{DB: db})
	require.ErrorContains(t, err, "snowlease: segments: ")
}
