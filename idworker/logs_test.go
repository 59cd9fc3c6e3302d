package idworker_test

import (
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/idworker/segment"
	"github.com/snowlease/snowlease/redisseq"
)

// The application's log has an outage of what numbers and ids are counted in, and its
// end, once each.
func TestOutageIsLogged(t *testing.T) {
	m := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1})
	t.Cleanup(func() { _ = client.Close() })
	cfg := counted(t)
	cfg.Quarantine, cfg.Prefetch = idworker.QuarantineNever, 1
	cfg.Segments = []segment.Config{{Name: "orders", Order: segment.OrderStrict}}
	store, err := redisseq.NewSegments(client, redisseq.WithQuarantine(redisseq.Never))
	require.NoError(t, err)
	require.NoError(t, store.Create(t.Context(), "orders", 1))
	first, err := idworker.OpenSequence(t.Context(), cfg, client) // sits out the first quarantine
	require.NoError(t, err)
	require.NoError(t, first.Close(t.Context()))

	var j journal
	var w *idworker.IdWorker
	var s *idworker.Segments
	a := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg), universal(client), j.provide(), fx.Populate(&w, &s))
	a.RequireStart()
	defer a.RequireStop()
	orders, err := s.Of("orders")
	require.NoError(t, err)
	m.SetError("LOADING away")
	for range 3 {
		_, err = orders.NextID()
		require.ErrorContains(t, err, "LOADING away")
		_, err = w.NextID()
		require.ErrorContains(t, err, "LOADING away")
	}
	m.SetError("")
	for range 3 {
		_, err = orders.NextIDWait(t.Context())
		require.NoError(t, err)
		_, err = w.NextIDWait(t.Context())
		require.NoError(t, err)
	}
	for _, line := range []string{
		`level=WARN msg="segment store failing" segment=orders`, `level=INFO msg="segment store answers again" segment=orders`,
		`level=WARN msg="sequence unavailable" namespace=` + cfg.Namespace, `level=INFO msg="sequence issues again" namespace=` + cfg.Namespace,
	} {
		require.Eventually(t, func() bool { return strings.Contains(j.String(), line) }, 10*time.Second, time.Millisecond, line)
		require.Equal(t, 1, strings.Count(j.String(), line), j.String())
	}
}
