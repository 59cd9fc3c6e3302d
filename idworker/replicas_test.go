package idworker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/redisseq"
	redissegments "github.com/snowlease/snowlease/redisseq/segments"
	"github.com/snowlease/snowlease/segment"
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
	require.Eventually(t, func() bool { return w.Status().State == idworker.StateExpired }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return errors.Is(w.Status().Err, redisseq.ErrNotReplicated) }, time.Minute, time.Millisecond)
	require.Less(t, w.Status().Ceiling, time.Now().Add(time.Second), "no ceiling was used that the replica may not have")
	_, err = w.NextID()
	require.ErrorIs(t, err, idworker.ErrLeaseExpired)

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
	for where, want := range map[string]error{
		idworker.SegmentStoreRedis:   redisseq.ErrNotReplicated,
		idworker.SegmentStoreDBRedis: nil,
	} {
		name := namespace(t)
		t.Run(where, func(t *testing.T) {
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
