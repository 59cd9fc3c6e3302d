package metrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
	"github.com/snowlease/snowlease/metrics/metricsfx"
)

type collectors struct {
	fx.In
	All []prometheus.Collector `group:"metrics-collectors"`
}

func TestModule(t *testing.T) {
	t.Parallel()
	center := center(t, lease.DefaultSkew, "orders", "audit")
	options := fx.Options(
		idworker.Module, metricsfx.Module,
		idworker.Named("audit", idworker.Config{Namespace: "audit"}), metricsfx.Named("audit"),
		fx.Supply(idworker.Config{Namespace: "orders"}),
		fx.Provide(func() lease.Center { return center }),
		fx.Provide(fx.Annotate(metrics.NewSegmentCollector, fx.From(new(*idworker.Numbers)), fx.ResultTags(`group:"metrics-collectors"`))),
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
		require.NoError(t, testutil.GatherAndCompare(reg, strings.NewReader(`
# HELP idworker_ids_total Ids issued by this process.
# TYPE idworker_ids_total counter
idworker_ids_total{idworker_center="memory",idworker_namespace="orders"} 1
idworker_ids_total{idworker_center="memory",idworker_namespace="audit"} 0
`), "idworker_ids_total"))
		used, err := testutil.GatherAndCount(reg, "idworker_pool_used")
		require.NoError(t, err)
		require.Equal(t, 2, used, "the pool of each")
	})
}
