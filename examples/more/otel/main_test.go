package main

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
)

// kept is an exporter that keeps everything.
type kept struct {
	metric.Exporter
	last map[string]metricdata.Aggregation
}

func (*kept) Temporality(k metric.InstrumentKind) metricdata.Temporality {
	return metric.DefaultTemporalitySelector(k)
}

func (*kept) Aggregation(k metric.InstrumentKind) metric.Aggregation {
	return metric.DefaultAggregationSelector(k)
}

func (k *kept) Export(_ context.Context, rm *metricdata.ResourceMetrics) error {
	k.last = map[string]metricdata.Aggregation{}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			k.last[m.Name] = m.Data
		}
	}
	return nil
}

func (*kept) Shutdown(context.Context) error { return nil }

// The last push, at the stop, has the ids of the process.
func TestPush(t *testing.T) {
	t.Parallel()
	var w *idworker.IdWorker
	var k kept
	app := fxtest.New(t, wiring(&k, t.TempDir()), fx.Populate(&w))
	app.RequireStart()
	require.NoError(t, w.NextIDs(t.Context(), make([]int64, 3)))
	app.RequireStop()

	ids, ok := k.last["idworker_ids_total"].(metricdata.Sum[float64])
	require.True(t, ok)
	require.True(t, ids.IsMonotonic)
	require.Len(t, ids.DataPoints, 1)
	require.EqualValues(t, 3, ids.DataPoints[0].Value)
	namespace, _ := ids.DataPoints[0].Attributes.Value("idworker_namespace")
	require.Equal(t, "local", namespace.AsString())
	require.Contains(t, k.last, "idworker_pool_used")
}
