package idworker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
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
			w.NextID, business.NextID, func() (int64, error) { return business.NextIDWait(t.Context()) },
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
	require.NoError(t, workers[0].Healthy(t.Context()))
	require.NoError(t, workers[0].Reset(t.Context()))
}

// A start fails if Wait is shorter than the quarantine, or its context ends during it. With
// exact_times, the quarantine is as long as MaxAhead; without, ids are ahead of the clock.
func TestSequenceModeQuarantine(t *testing.T) {
	t.Parallel()
	client := newRedis(t, testserver.Redis(t))
	cfg := counted(t)
	cfg.MaxAhead = time.Minute
	w, err := idworker.Open(t.Context(), cfg, idworker.WithRedis(client))
	require.NoError(t, err)
	require.Positive(t, ahead(t, w))
	require.NoError(t, w.Stop(t.Context()))

	cfg.Namespace, cfg.Store.ExactTimes, cfg.Wait = namespace(t), true, time.Second
	_, err = idworker.Open(t.Context(), cfg, idworker.WithRedis(client))
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	require.ErrorContains(t, err, "raise wait (1s)")
	require.ErrorContains(t, err, "without store.exact_times")
	cfg.Wait = time.Hour
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("nobody waits any more")
	time.AfterFunc(100*time.Millisecond, func() { cancel(gone) })
	_, err = idworker.Open(ctx, cfg, idworker.WithRedis(client))
	require.ErrorIs(t, err, gone)
}

// An outage of Redis shows in the status, is logged once for the counted ids and once for each
// segment, and heals.
func TestOutageOfRedis(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	cfg := counted(t)
	cfg.Store.Quarantine, cfg.Sequence.Prefetch = lease.QuarantineNever, 1
	cfg.Segments = []segment.Config{{Name: "orders", Order: segment.OrderStrict}}
	store, err := redissegments.New(client, redisseq.WithQuarantine(lease.QuarantineNever))
	require.NoError(t, err)
	require.NoError(t, store.Create(t.Context(), cfg.Namespace+"/orders", 1))
	var j journal
	var w *idworker.IdWorker
	var s *idworker.Segments
	a := app(t, &w, fx.Supply(cfg), universal(client), j.provide(), fx.Populate(&s))
	a.RequireStart()
	orders, err := s.Of("orders")
	require.NoError(t, err)
	_, err = w.NextIDWait(t.Context())
	require.NoError(t, err)
	require.Zero(t, w.Status().FailingSince)
	issues := `level=INFO msg="sequence issues ids" namespace=` + cfg.Namespace
	started := strings.Count(j.String(), issues)
	began := time.Now()
	m.SetError("LOADING away")
	var since time.Time
	for n := range 3 {
		for _, next := range []func() (int64, error){orders.NextID, w.NextID} { // give up at the first failure
			_, err := next()
			require.ErrorContains(t, err, "LOADING away")
		}
		st := w.Status()
		require.Equal(t, snowlease.StateUnavailable, st.State)
		if n == 0 {
			since = st.FailingSince
		}
		require.Equal(t, since, st.FailingSince, "since the first failure")
	}
	require.WithinRange(t, since, began, time.Now())
	require.ErrorContains(t, w.Healthy(t.Context()), "LOADING away")
	m.SetError("")
	for range 3 {
		for _, source := range []snowflake.Source{orders, w} {
			require.NoError(t, source.NextIDs(t.Context(), make([]int64, 1)))
		}
	}
	require.Equal(t, snowlease.StateReady, w.Status().State)
	require.Zero(t, w.Status().FailingSince)
	for line, times := range map[string]int{
		`level=WARN msg="segment store failing" segment=` + cfg.Namespace + "/orders": 1, `level=INFO msg="segment store answers again" segment=` + cfg.Namespace + "/orders": 1,
		`level=WARN msg="sequence unavailable" namespace=` + cfg.Namespace: 1, issues: started + 1,
	} {
		require.Eventually(t, func() bool { return strings.Count(j.String(), line) >= times }, 10*time.Second, time.Millisecond, line)
		require.Equal(t, times, strings.Count(j.String(), line), j.String())
	}
	a.RequireStop()
	_, err = w.NextID()
	require.ErrorIs(t, err, snowlease.ErrStopped)
	require.Equal(t, snowlease.StateStopped, w.Status().State)
}

func TestSequenceModeHasNoCenter(t *testing.T) {
	cfg := idworker.Config{Namespace: "orders", Mode: idworker.ModeRedisSequence}
	_, err := idworker.NewCenter(cfg)
	require.ErrorContains(t, err, "has no center")
	var w *idworker.IdWorker
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Populate(&w)).Err(), "no redis.UniversalClient")
}
