//go:build prove

package idworker_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// A real Redis is wiped repeatedly under load. Every worker uses up its range, then continues
// with a range above everything that was forgotten.
func TestRedisWipedUnderLoad(t *testing.T) {
	srv := testserver.NewRedis(t)
	client := newRedis(t, srv.Addr())
	cfg := idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{TTL: 3 * time.Second}, Store: idworker.StoreConfig{Skew: 100 * time.Millisecond}}
	var w *idworker.IdWorker
	a := app(t, &w, fx.Supply(cfg), universal(client), opened())
	a.RequireStart()
	var prev int64
	for wipes := 0; wipes < 4; wipes++ {
		require.NoError(t, client.FlushAll(t.Context()).Err())
		renewed := w.Status().Renewed
		for w.Status().Renewed.Equal(renewed) {
			id, err := w.NextID()
			require.NoError(t, err)
			require.Greater(t, id, prev)
			prev = id
		}
	}
	require.EqualValues(t, 4, w.Status().Losses)
	a.RequireStop()
}

// A real server hangs for longer than the lease. Ids continue to the ceiling, then stop, and
// resume with the server in the same process.
func TestServerHangsWhileRunning(t *testing.T) {
	for name, start := range map[string]func(testing.TB) (*testserver.Server, fx.Option){
		"redis": func(t testing.TB) (*testserver.Server, fx.Option) {
			srv := testserver.NewRedis(t)
			return srv, universal(newRedis(t, srv.Addr()))
		},
		"mariadb": func(t testing.TB) (*testserver.Server, fx.Option) {
			srv := testserver.NewMariaDB(t)
			return srv, fx.Supply(openDB(t, mysql.Open(srv.DSN())))
		},
		"mysql": func(t testing.TB) (*testserver.Server, fx.Option) {
			srv := testserver.NewMySQL(t)
			return srv, fx.Supply(openDB(t, mysql.Open(srv.DSN())))
		},
		"postgres": func(t testing.TB) (*testserver.Server, fx.Option) {
			srv := testserver.NewPostgres(t)
			return srv, fx.Supply(openDB(t, postgres.Open(srv.DSN())))
		},
	} {
		t.Run(name, func(t *testing.T) {
			srv, client := start(t)
			cfg := idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{TTL: 2 * time.Second}, Store: idworker.StoreConfig{Skew: 100 * time.Millisecond}}
			var w *idworker.IdWorker
			var c lease.Center
			a := app(t, &w, fx.Supply(cfg), client, opened(), closing(), fx.Populate(&c))
			a.RequireStart()
			prev, err := w.NextID()
			require.NoError(t, err)

			srv.Pause()
			ceiling := w.Status().Ceiling
			var last int64
			for err = nil; err == nil; time.Sleep(time.Millisecond) {
				last = prev
				var id int64
				if id, err = w.NextID(); err == nil {
					require.Greater(t, id, prev)
					prev = id
				}
			}
			require.ErrorIs(t, err, snowlease.ErrLeaseExpired)
			p, err := w.Decode(last)
			require.NoError(t, err)
			require.False(t, p.Time.After(w.Status().Ceiling), "none past the ceiling %v", ceiling)
			require.Equal(t, snowlease.StateExpired, w.Status().State)

			srv.Resume()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			id, err := w.NextIDWait(ctx)
			require.NoError(t, err)
			require.Greater(t, id, prev)
			require.True(t, ready(w))
			a.RequireStop()
		})
	}
}

// After a loss, NextIDWait waits while no worker id is free and through a quarantine.
func TestNextIDWaitAfterALoss(t *testing.T) {
	world(t, idworker.Config{Store: idworker.StoreConfig{ExactTimes: true}}, func(t *testing.T, c *memcenter.Center, w *idworker.IdWorker, lc *fxtest.Lifecycle) {
		lc.RequireStart()
		before, err := w.NextID()
		require.NoError(t, err)
		c.Wipe()
		time.Sleep(31 * time.Second) // the range is used up, the quarantine lasts
		_, err = w.NextID()
		require.ErrorIs(t, err, snowlease.ErrLeaseExpired)
		require.ErrorAs(t, err, new(*lease.QuarantineError))
		id, err := w.NextIDWait(context.Background())
		require.NoError(t, err)
		require.Greater(t, id, before)
		require.EqualValues(t, 1, w.Status().Losses)
	})
}
