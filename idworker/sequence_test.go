package idworker_test

import (
	"context"
	"errors"
	"strings"
	"sync"
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
	"github.com/snowlease/snowlease/snowflake"
)

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
		a := app(t, &workers[i], fx.Supply(cfg), universal(newRedis(t, addr)))
		_, err := workers[i].NextID()
		require.ErrorIs(t, err, snowlease.ErrNotStarted)
		require.Equal(t, snowlease.StateNotStarted, workers[i].Status().State)
		a.RequireStart()
		t.Cleanup(a.RequireStop)
	}
	var last int64
	for n := range 60 {
		w := workers[n%3]
		var (
			ids [2]int64
			err error
		)
		switch n % 4 {
		case 0:
			ids[1], err = w.NextID()
		case 1:
			ids[1], err = w.NextIDWait(t.Context())
		case 2:
			err = w.NextIDs(t.Context(), ids[:])
		case 3:
			s, none := w.For(3)
			require.NoError(t, none)
			ids[1], err = s.NextID()
		}
		require.NoError(t, err)
		p, err := w.Decode(ids[1])
		require.NoError(t, err)
		require.Equal(t, [2]int64{7, 3}, [2]int64{p.Worker, p.Business})
		require.Greater(t, ids[1], last)
		last = ids[1]
	}
	refunds, err := workers[0].For(4)
	require.NoError(t, err)
	id, err := refunds.NextID()
	require.NoError(t, err)
	p, err := workers[0].Decode(id)
	require.NoError(t, err)
	require.Equal(t, int64(4), p.Business)
	_, err = workers[0].For(32)
	require.ErrorContains(t, err, "0 to 31")
	_, err = workers[0].For(-1)
	require.ErrorContains(t, err, "0 to 31")

	st := workers[0].Status()
	require.Equal(t, snowlease.StateReady, st.State)
	require.Equal(t, int64(7), st.Worker)
	require.NotNil(t, st.Sequence)
	require.True(t, st.Sequence.Strict)
	require.Contains(t, st.Center, addr)
	require.True(t, ready(workers[0]))
	require.NoError(t, workers[0].Healthy(t.Context()))
	require.NoError(t, workers[0].Reset(t.Context()))
}

// An outage of Redis shows in Healthy and heals.
func TestSequenceModeRedisAway(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	cfg := counted(t)
	cfg.Store.Quarantine, cfg.Sequence.Prefetch = lease.QuarantineNever, 1
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), ContextTimeoutEnabled: true, MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	w, err := idworker.Open(t.Context(), cfg, idworker.WithRedis(client))
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Stop(t.Context())) }()
	_, err = w.NextID()
	require.NoError(t, err)
	m.SetError("LOADING away")
	id, err := w.NextID()
	require.Zero(t, id)
	require.ErrorContains(t, err, "LOADING away")
	require.Equal(t, snowlease.StateUnavailable, w.Status().State)
	require.ErrorContains(t, w.Healthy(t.Context()), "LOADING away")
	require.False(t, ready(w))
	m.SetError("")
	_, err = w.NextIDWait(t.Context())
	require.NoError(t, err)
	require.Equal(t, snowlease.StateReady, w.Status().State)
	require.NoError(t, w.Stop(t.Context()))
	_, err = w.NextID()
	require.ErrorIs(t, err, snowlease.ErrStopped)
	require.Equal(t, snowlease.StateStopped, w.Status().State)
}

// A start fails if Wait is shorter than the quarantine.
func TestSequenceModeQuarantine(t *testing.T) {
	t.Parallel()
	client := newRedis(t, testserver.Redis(t))
	cfg := counted(t)
	cfg.Store.Skew, cfg.Wait = 4*time.Second, time.Second
	ended, cancel := context.WithCancelCause(t.Context())
	waiting := cfg
	waiting.Wait = time.Minute
	late := errors.New("nobody waits any more")
	client.AddHook(afterScript(func() { time.AfterFunc(100*time.Millisecond, func() { cancel(late) }) })) // it waits for the end of the quarantine
	_, err := idworker.Open(ended, waiting, idworker.WithRedis(client))
	require.ErrorIs(t, err, late, "a start whose context has ended starts nothing")

	_, err = idworker.Open(t.Context(), cfg, idworker.WithRedis(client))
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	require.ErrorContains(t, err, "raise wait (1s)")
	require.NotContains(t, err.Error(), "exact_times")
	var j journal
	var w *idworker.IdWorker
	a := app(t, &w, fx.Supply(waiting), universal(client), j.provide())
	a.RequireStart()
	require.Contains(t, j.String(), "idworker started")
	require.NotContains(t, j.String(), "good_for_replicas", "any number of them share the worker number")
	require.Equal(t, snowlease.StateReady, w.Status().State)
	a.RequireStop()
}

// In a new namespace, ids are MaxAhead ahead of the clock at first. With exact_times, the
// start waits instead.
func TestSequenceModeFirstStart(t *testing.T) {
	t.Parallel()
	client := newRedis(t, testserver.Redis(t))
	for _, exact := range []bool{false, true} {
		cfg := counted(t)
		cfg.MaxAhead, cfg.Store.ExactTimes = time.Minute, exact
		w, err := idworker.Open(t.Context(), cfg, idworker.WithRedis(client))
		if exact {
			require.ErrorContains(t, err, "without store.exact_times")
			continue
		}
		require.NoError(t, err)
		require.Greater(t, ahead(t, w), time.Duration(0))
		require.NoError(t, w.Stop(t.Context()))
	}
}

// afterScript is a Redis hook that runs after each script.
type afterScript func()

func (afterScript) DialHook(next redis.DialHook) redis.DialHook { return next }

func (after afterScript) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if err == nil && strings.HasPrefix(cmd.Name(), "eval") {
			after()
		}
		return err
	}
}

func (afterScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestSequenceModeConcurrent(t *testing.T) {
	client := newRedis(t, testserver.Redis(t))
	var mu sync.Mutex
	seen := make(map[int64]bool)
	var all sync.WaitGroup
	cfg := counted(t)
	for range 4 {
		w, err := idworker.Open(t.Context(), cfg, idworker.WithRedis(client))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, w.Stop(t.Context())) })
		all.Go(func() {
			for range 200 {
				var ids [10]int64
				if err := w.NextIDs(t.Context(), ids[:]); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, id := range ids {
					if seen[id] {
						t.Errorf("%d twice", id)
					}
					seen[id] = true
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	require.Len(t, seen, 8000)
}

func TestSequenceModeFaults(t *testing.T) {
	for says, change := range map[string]func(*idworker.Config){
		"sequence.worker 32 is not 0 to 31":      func(c *idworker.Config) { c.Sequence.Worker = 32 },
		"sequence.prefetch 2000000 is not 1 to":  func(c *idworker.Config) { c.Sequence.Prefetch = 2_000_000 },
		"sequence.max_age 1ms is not 10ms to 1h": func(c *idworker.Config) { c.Sequence.MaxAge = time.Millisecond },
		"workers \"0-3\"":                        func(c *idworker.Config) { c.Workers = "0-3" },
		"store.skew 2h0m0s is not 1ms to 1h":     func(c *idworker.Config) { c.Store.Skew = 2 * time.Hour },
		`lease is set, but mode redis-sequence lends no worker ids: leave it out, or set mode auto, db, redis or local`: func(c *idworker.Config) { c.Lease.OnLost = idworker.OnLostShutdown },
		"sequence is set, but mode db counts no ids in Redis: leave it out, or set mode redis-sequence":                 func(c *idworker.Config) { c.Mode, c.Sequence.Prefetch = idworker.ModeDB, 1 },
		"sequence.worker 31 is one of the 1 reserved":                                                                   func(c *idworker.Config) { c.Sequence.Worker, c.Reserved = 31, 1 },
	} {
		cfg := idworker.Config{Namespace: "orders", Mode: idworker.ModeRedisSequence, Layout: snowflake.Layout{}}
		change(&cfg)
		require.ErrorContains(t, cfg.Validate(), says)
	}
	cfg := idworker.Config{Namespace: "orders", Mode: idworker.ModeRedisSequence}
	_, err := idworker.NewCenter(cfg)
	require.ErrorContains(t, err, "has no center")
	var w *idworker.IdWorker
	require.ErrorContains(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Populate(&w)).Err(), "no redis.UniversalClient")
}
