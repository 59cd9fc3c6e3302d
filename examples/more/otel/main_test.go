package main

import (
	"context"
	"fmt"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/otlptranslator"
	"github.com/stretchr/testify/require"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/metrics"
	"github.com/snowlease/snowlease/numbers/segment"
)

// kept keeps what is exported to it.
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

// Prometheus gets the same series by OTLP as from the registry, but for labels that
// OpenTelemetry adds. So the alert rules and the dashboard suit both.
func TestNames(t *testing.T) {
	t.Parallel()
	worker, err := idworker.Open(t.Context(), idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Dir: t.TempDir()}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, worker.Stop(context.Background())) })
	tickets, err := segment.Open(t.Context(), new(segmentcheck.Memory), segment.Config{Namespace: "shop", Name: "tickets"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, tickets.Close()) })
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(metrics.NewCollector(worker), metrics.NewPoolCollector(worker, 0), metrics.NewSegmentCollector(numbers{tickets.Status()}))
	var want, got []string
	families, err := reg.Gather()
	require.NoError(t, err)
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []attribute.KeyValue
			for _, l := range m.GetLabel() {
				labels = append(labels, attribute.String(l.GetName(), l.GetValue()))
			}
			want = append(want, series(f.GetName(), f.GetType() == dto.MetricType_COUNTER, attribute.NewSet(labels...)))
		}
	}
	require.Greater(t, len(want), 30)

	scopes, err := bridge.NewMetricProducer(bridge.WithGatherer(reg)).Produce(t.Context())
	require.NoError(t, err)
	require.Len(t, scopes, 1)
	namer := otlptranslator.NewMetricNamer("", otlptranslator.UnderscoreEscapingWithSuffixes) // by which Prometheus names what OTLP brings
	for _, m := range scopes[0].Metrics {
		var points []metricdata.DataPoint[float64]
		kind := otlptranslator.MetricType(otlptranslator.MetricTypeGauge)
		switch data := m.Data.(type) {
		case metricdata.Gauge[float64]:
			points = data.DataPoints
		case metricdata.Sum[float64]:
			require.True(t, data.IsMonotonic)
			points, kind = data.DataPoints, otlptranslator.MetricTypeMonotonicCounter
		}
		name, err := namer.Build(otlptranslator.Metric{Name: m.Name, Unit: m.Unit, Type: kind})
		require.NoError(t, err)
		for _, p := range points {
			got = append(got, series(name, kind == otlptranslator.MetricTypeMonotonicCounter, p.Attributes))
		}
	}
	require.ElementsMatch(t, want, got)
}

type numbers []segment.Status

func (n numbers) Status() []segment.Status { return n }

// series names a series by its metric, kind and labels.
func series(name string, counter bool, labels attribute.Set) string {
	return fmt.Sprintf("%s, counter %t, %s", name, counter, labels.Encoded(attribute.DefaultEncoder()))
}
