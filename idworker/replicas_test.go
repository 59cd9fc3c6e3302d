package idworker_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
)

// A replica whose acknowledgment is required hangs. Ids continue to the ceiling and resume
// with the replica, under the same worker id or another.
func TestWaitReplicas(t *testing.T) {
	t.Parallel()
	primary := testserver.NewRedis(t)
	replica := testserver.NewRedisReplica(t, primary)
	cfg := idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{TTL: 4 * time.Second}, Store: idworker.StoreConfig{Skew: 100 * time.Millisecond, WaitReplicas: 1}}
	var w *idworker.IdWorker
	a := app(t, &w, fx.Supply(cfg), universal(newRedis(t, primary.Addr())), opened())
	a.RequireStart()
	before, err := w.NextID()
	require.NoError(t, err)

	replica.Pause()
	require.Eventually(t, func() bool { return w.Status().State == snowlease.StateExpired }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return errors.Is(w.Status().Err, redisseq.ErrNotReplicated) }, time.Minute, time.Millisecond)
	require.Less(t, w.Status().Ceiling, time.Now().Add(time.Second), "no ceiling was used that the replica may not have")
	_, err = w.NextID()
	require.ErrorIs(t, err, snowlease.ErrLeaseExpired)

	replica.Resume()
	after, err := w.NextIDWait(t.Context())
	require.NoError(t, err)
	require.Greater(t, after, before)
	require.Eventually(t, func() bool { return ready(w) }, time.Minute, time.Millisecond)
	a.RequireStop()
}

func TestWaitReplicasOfADatabase(t *testing.T) {
	_, err := idworker.NewCenter(idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{WaitReplicas: 1}}, idworker.WithDB(newSQLite(t)))
	require.ErrorContains(t, err, "wait_replicas 1")
	require.ErrorContains(t, err, "synchronous_commit")
}

// Segments in Redis wait for replicas too. Those of db+redis do not need to: the database
// keeps them.
func TestWaitReplicasOfSegments(t *testing.T) {
	t.Parallel()
	client := newRedis(t, testserver.Redis(t))
	store, err := redissegments.New(client)
	require.NoError(t, err)
	for where, want := range map[idworker.SegmentStore]error{
		idworker.SegmentStoreRedis:   redisseq.ErrNotReplicated,
		idworker.SegmentStoreDBRedis: nil,
	} {
		name := namespace(t)
		t.Run(string(where), func(t *testing.T) {
			g := segment.Config{Name: name, Order: segment.OrderStrict, Wait: 30 * time.Second}
			if where == idworker.SegmentStoreRedis {
				require.NoError(t, store.Create(t.Context(), g.Name, 1))
			}
			var s *idworker.Segments
			a := fxtest.New(t, fx.NopLogger, idworker.Module, universal(client), fx.Supply(newSQLite(t)), fx.Populate(&s),
				fx.Supply(idworker.Config{SegmentStore: where, Store: idworker.StoreConfig{WaitReplicas: 1}, Segments: []segment.Config{g}}))
			a.RequireStart()
			numbers, err := s.Of(g.Name)
			require.NoError(t, err)
			_, err = numbers.NextID() // gives up at the first failure
			if want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, want)
			}
			a.RequireStop()
		})
	}
}

// The waits of new namespaces add up, since fx runs start hooks one after the other: with
// seven, they take longer than its default timeout. Calls of Open wait at the same time.
func TestNewNamespacesWaitInTurn(t *testing.T) {
	const (
		seven = 7
		least = lease.DefaultSkew + 250*time.Millisecond // for each
		most  = least + 200*time.Millisecond
	)
	configs := func(prefix string) (all []idworker.Config) {
		for i := range seven {
			all = append(all, idworker.Config{Namespace: fmt.Sprint(prefix, i)})
		}
		return all
	}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))) // after the layout's epoch
		center := memcenter.New()
		lc := fxtest.NewLifecycle(t)
		options := []fx.Option{fx.NopLogger, centered(center), fx.Decorate(func() fx.Lifecycle { return lc })}
		for _, cfg := range configs("fx") {
			options = append(options, idworker.Named(cfg.Namespace, cfg),
				fx.Invoke(fx.Annotate(func(*idworker.IdWorker) {}, fx.ParamTags(fmt.Sprintf("name:%q", cfg.Namespace)))))
		}
		require.NoError(t, fx.New(options...).Err())
		began := time.Now()
		require.NoError(t, lc.Start(t.Context()))
		took := time.Since(began)
		require.GreaterOrEqual(t, took, seven*least)
		require.LessOrEqual(t, took, seven*most)
		require.Greater(t, took, fx.DefaultTimeout)
		require.Less(t, 6*most, fx.DefaultTimeout)
		require.NoError(t, lc.Stop(t.Context()))

		began = time.Now()
		var all sync.WaitGroup
		for _, cfg := range configs("open") {
			all.Go(func() {
				w, err := idworker.Open(t.Context(), cfg, idworker.WithCenter(center))
				if assert.NoError(t, err) {
					assert.NoError(t, w.Stop(t.Context()))
				}
			})
		}
		all.Wait()
		require.LessOrEqual(t, time.Since(began), most)
	})
}
