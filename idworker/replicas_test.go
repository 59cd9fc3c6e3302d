package idworker_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
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
