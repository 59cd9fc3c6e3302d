package idworker_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
)

// WithLogger makes Open log the same events as fx.
func TestOpenTakesALogger(t *testing.T) {
	t.Parallel()
	events := func(t *testing.T, j *journal) (names []string) {
		for _, line := range j.Lines() {
			names = append(names, regexp.MustCompile(`msg="([^"]+)"`).FindStringSubmatch(line)[1])
		}
		return names
	}
	cfg := idworker.Config{Namespace: namespace(t)}
	center := memcenter.New()
	req, err := cfg.Request()
	require.NoError(t, err)
	require.NoError(t, center.Init(t.Context(), req))
	for _, opts := range [][]idworker.Option{nil, {idworker.WithLogger(nil)}} {
		w, err := idworker.Open(t.Context(), cfg, append(opts, idworker.WithCenter(center))...)
		require.NoError(t, err)
		require.NoError(t, w.Stop(t.Context()))
	}
	var j journal
	w, err := idworker.Open(t.Context(), cfg, idworker.WithCenter(center), idworker.WithLogger(j.logger()))
	require.NoError(t, err)
	require.NoError(t, w.Stop(t.Context()))
	require.Equal(t, []string{"worker id borrowed", "idworker started", "worker id given back"}, events(t, &j))

	client := newRedis(t, miniredis.RunT(t).Addr())
	cfg = counted(t)
	cfg.Store.Quarantine = lease.QuarantineNever
	var s journal
	w, err = idworker.Open(t.Context(), cfg, idworker.WithRedis(client), idworker.WithLogger(s.logger()))
	require.NoError(t, err)
	require.NoError(t, w.Stop(t.Context()))
	require.Contains(t, events(t, &s), "idworker started")
}

// An outage of the store of segments or counted ids is logged once, and so is its end.
func TestOutageIsLogged(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	cfg := counted(t)
	cfg.Store.Quarantine, cfg.Sequence.Prefetch = lease.QuarantineNever, 1
	store, err := redissegments.New(client, redisseq.WithQuarantine(lease.QuarantineNever))
	require.NoError(t, err)
	require.NoError(t, store.Create(t.Context(), "orders", 1))
	first, err := idworker.Open(t.Context(), cfg, idworker.WithRedis(client)) // sits out the first quarantine
	require.NoError(t, err)
	require.NoError(t, first.Stop(t.Context()))
	cfg.Segments = []segment.Config{{Name: "orders", Order: segment.OrderStrict}}

	var j journal
	var w *idworker.IdWorker
	var s *idworker.Segments
	a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg), universal(client), j.provide(), fx.Populate(&w, &s))
	a.RequireStart()
	defer a.RequireStop()
	orders, err := s.Of("orders")
	require.NoError(t, err)
	require.Zero(t, w.Status().FailingSince)
	began := time.Now()
	m.SetError("LOADING away")
	for range 3 {
		_, err = orders.NextID()
		require.ErrorContains(t, err, "LOADING away")
		_, err = w.NextID()
		require.ErrorContains(t, err, "LOADING away")
	}
	since := w.Status().FailingSince
	require.False(t, since.Before(began) || since.After(time.Now()), "%v", since)
	_, err = w.NextID()
	require.Error(t, err)
	require.Equal(t, since, w.Status().FailingSince, "since the first failure")
	m.SetError("")
	for range 3 {
		_, err = orders.NextIDWait(t.Context())
		require.NoError(t, err)
		_, err = w.NextIDWait(t.Context())
		require.NoError(t, err)
	}
	require.Zero(t, w.Status().FailingSince)
	for _, line := range []string{
		`level=WARN msg="segment store failing" segment=orders`, `level=INFO msg="segment store answers again" segment=orders`,
		`level=WARN msg="sequence unavailable" namespace=` + cfg.Namespace, `level=INFO msg="sequence issues ids" namespace=` + cfg.Namespace,
	} {
		require.Eventually(t, func() bool { return strings.Contains(j.String(), line) }, 10*time.Second, time.Millisecond, line)
		require.Equal(t, 1, strings.Count(j.String(), line), j.String())
	}
}
