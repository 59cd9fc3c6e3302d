package metrics_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
)

type collectors struct {
	fx.In
	All []prometheus.Collector `group:"metrics-collectors"`
}

func TestModule(t *testing.T) {
	t.Parallel()
	center := center(t, lease.DefaultSkew, "orders", "audit")
	options := fx.Options(
		idworker.Module, metrics.Module,
		idworker.Named("audit", idworker.Config{Namespace: "audit"}), metrics.Named("audit"),
		fx.Supply(idworker.Config{Namespace: "orders"}),
		fx.Provide(func() lease.Center { return center }),
	)
	t.Run("nobody takes the group", func(t *testing.T) {
		app := fxtest.New(t, options)
		app.RequireStart().RequireStop()
		slots, err := center.Slots(t.Context(), "orders")
		require.NoError(t, err)
		for _, s := range slots {
			require.Zero(t, s.Token, "no worker id was borrowed")
		}
	})
	t.Run("a registry takes it", func(t *testing.T) {
		reg := prometheus.NewPedanticRegistry()
		var w *idworker.IdWorker
		app := fxtest.New(t, options, fx.Populate(&w), fx.Invoke(func(c collectors) { reg.MustRegister(c.All...) }))
		app.RequireStart()
		defer app.RequireStop()
		_, err := w.NextID()
		require.NoError(t, err)
		families, err := reg.Gather()
		require.NoError(t, err)
		ids, used := map[string]float64{}, 0
		for _, f := range families {
			if f.GetName() == "idworker_pool_used" {
				used = len(f.GetMetric())
			}
			if f.GetName() != "idworker_ids_total" {
				continue
			}
			for _, m := range f.GetMetric() {
				ids[m.GetLabel()[1].GetValue()] = m.GetCounter().GetValue()
			}
		}
		require.Equal(t, map[string]float64{"orders": 1, "audit": 0}, ids)
		require.Equal(t, 2, used, "the pool of each")
	})
}

// In mode redis-sequence all processes share a worker id, and there is no pool.
func TestRedisSequence(t *testing.T) {
	t.Parallel()
	server := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: server.Addr(), MaxRetries: -1})
	defer func() { _ = client.Close() }()
	var w *idworker.IdWorker
	app := fxtest.New(t, idworker.Module, fx.Populate(&w), fx.Provide(func() redis.UniversalClient { return client }),
		fx.Supply(idworker.Config{Namespace: "orders", Mode: idworker.ModeRedisSequence, Store: idworker.StoreConfig{Quarantine: lease.QuarantineNever, Skew: 100 * time.Millisecond}}))
	app.RequireStart()
	defer app.RequireStop()
	_, err := w.NextID()
	require.NoError(t, err)
	got := gather(t, metrics.NewCollector(w))
	require.EqualValues(t, 1, got["idworker_ids_total"])
	require.EqualValues(t, 1, got["idworker_issuing"])
	require.GreaterOrEqual(t, got["idworker_sequence_calls_total"], 1.0)
	require.InDelta(t, got["idworker_sequence_reserved_total"]-1, got["idworker_sequence_at_hand"], 0)
	require.NotContains(t, got, "idworker_worker_id")
	require.NotContains(t, got, "idworker_pool_size")
	require.NotContains(t, got, "idworker_ids_stop_in_seconds")
	require.Zero(t, got["idworker_failing_seconds"])

	server.SetError("LOADING")
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		_, _ = w.NextID()
		got := gather(t, metrics.NewCollector(w))
		require.Zero(t, got["idworker_issuing"])
		require.Positive(t, got["idworker_failing_seconds"])
	}, 30*time.Second, 10*time.Millisecond)
	server.SetError("")
}
