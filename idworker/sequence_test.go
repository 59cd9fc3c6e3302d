package idworker_test

import (
	"context"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/snowflake"
)

var business = snowflake.Layout{WorkerBits: 5, BusinessBits: 5, SequenceBits: 12}

// counted returns a configuration of mode redis-sequence with a short quarantine.
func counted(t testing.TB) idworker.Config {
	return idworker.Config{
		Namespace: namespace(t), Mode: idworker.ModeRedisSequence, Layout: business, Business: 3,
		MaxAhead: 50 * time.Millisecond, Store: idworker.StoreConfig{Skew: 20 * time.Millisecond},
	}
}

// Any number of processes share a namespace. With Prefetch 1, ids ascend across them.
func TestSequenceMode(t *testing.T) {
	addr := testserver.Redis(t)
	cfg := counted(t)
	cfg.Sequence.Prefetch, cfg.Sequence.Worker = 1, 7
	workers := make([]*idworker.IdWorker, 3)
	for i := range workers {
		var j journal
		a := app(t, &workers[i], fx.Supply(cfg), universal(newRedis(t, addr)), j.provide())
		_, err := workers[i].NextID()
		require.ErrorIs(t, err, snowlease.ErrNotStarted)
		require.Equal(t, snowlease.StateNotStarted, workers[i].Status().State)
		a.RequireStart()
		t.Cleanup(a.RequireStop)
		require.Contains(t, j.String(), "idworker started")
		require.NotContains(t, j.String(), "good_for_replicas", "any number of them share the worker number")
	}
	var last int64
	for n := range 60 {
		w := workers[n%3]
		business, err := w.For(int64(n % 4))
		require.NoError(t, err)
		ids := make([]int64, 2)
		for _, next := range []func() (int64, error){
			func() (int64, error) { return business.NextIDWait(t.Context()) },
			func() (int64, error) { err := w.NextIDs(t.Context(), ids); return ids[1], err },
		} {
			id, err := next()
			require.NoError(t, err)
			p, err := w.Decode(id)
			require.NoError(t, err)
			require.Equal(t, int64(7), p.Worker)
			require.Greater(t, id&^(31<<12), last&^(31<<12), "whatever the business number")
			last = id
		}
	}
	_, err := workers[0].For(32)
	require.ErrorContains(t, err, "0 to 31")
	st := workers[0].Status()
	require.Equal(t, snowlease.StateReady, st.State)
	require.Equal(t, int64(7), st.Worker)
	require.True(t, st.Sequence.Strict)
	require.Contains(t, st.Center, addr)
	require.NoError(t, workers[0].Healthy())
	require.NoError(t, workers[0].Reset(t.Context()))
}

// An outage of Redis shows in the status, and heals.
func TestOutageOfRedis(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	cfg := counted(t)
	cfg.Store.Durable, cfg.Sequence.Prefetch = true, 1
	w, err := idworker.Open(t.Context(), cfg, idworker.Clients{Redis: client})
	require.NoError(t, err)
	began := time.Now()
	m.SetError("LOADING away")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { _, err := w.NextIDWait(ctx); done <- err }()
	require.Eventually(t, func() bool { return w.Healthy() != nil }, 20*time.Second, time.Millisecond)
	cancel()
	require.ErrorContains(t, <-done, "LOADING away")
	require.Equal(t, snowlease.StateUnavailable, w.Status().State)
	require.WithinRange(t, w.Status().FailingSince, began, time.Now())
	require.ErrorContains(t, w.Healthy(), "LOADING away")
	m.SetError("")
	require.NoError(t, w.NextIDs(t.Context(), make([]int64, 1)))
	require.Equal(t, snowlease.StateReady, w.Status().State)
	require.Zero(t, w.Status().FailingSince)
	require.NoError(t, w.Close())
	require.Equal(t, snowlease.StateStopped, w.Status().State)
}

func TestSequenceModeHasNoCenter(t *testing.T) {
	cfg := idworker.Config{Namespace: "orders", Mode: idworker.ModeRedisSequence}
	_, err := idworker.NewCenter(cfg, idworker.Clients{})
	require.ErrorContains(t, err, "has no center")
	var w *idworker.IdWorker
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Populate(&w)).Err(), "no redis.UniversalClient")
}
