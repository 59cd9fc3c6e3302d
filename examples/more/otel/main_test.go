package main

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

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

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/snowflake"
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

// shown is a worker with the status.
type shown struct{ status snowlease.Status }

func (s shown) Status() snowlease.Status    { return s.status }
func (shown) Healthy(context.Context) error { return nil }
func (shown) Layout() snowflake.Layout      { return snowflake.Layout{}.WithDefaults() }
func (shown) Slots(context.Context, string) ([]lease.Slot, error) {
	return []lease.Slot{{Worker: 1, Expires: 1, Now: 1}}, nil
}

type numbers []segment.Status

func (n numbers) Status() []segment.Status { return n }

// Prometheus gets the same series by OTLP as from the registry, but for labels that
// OpenTelemetry adds. So the alert rules and the dashboard suit both.
func TestNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that all times are one
		leased := shown{snowlease.Status{
			State: snowlease.StateReady, Namespace: "orders", Center: "mysql db:3306/shop", Worker: 3, Losses: 2, Renewals: 7, Failures: 5, Issued: 40, Waits: 6,
			Batches: snowlease.Batches{UpTo10: 1, UpTo100: 2, UpTo1000: 3, More: 4}, Lead: time.Second, Pool: snowlease.Pool{Size: 32, First: 0, Last: 31},
			Now: time.Now(), Ceiling: time.Now().Add(20 * time.Second), FailingSince: time.Now().Add(-time.Second),
		}}
		sequence := shown{snowlease.Status{State: snowlease.StateReady, Namespace: "items", Center: "redis", Sequence: &snowlease.Sequence{Calls: 3, Reserved: 30, AtHand: 4}}}
		tickets := numbers{{State: segment.StateReady, Name: "tickets", Store: "redis", Last: 50, Max: 100, Remaining: 10, Issued: 40, Reservations: 5, Failures: 2, Waits: 3}}
		reg := prometheus.NewPedanticRegistry()
		reg.MustRegister(metrics.NewCollector(leased, sequence), metrics.NewPoolCollector(leased, 0), metrics.NewSegmentCollector(tickets))
		want := map[string]float64{}
		families, err := reg.Gather()
		require.NoError(t, err)
		for _, f := range families {
			for _, m := range f.GetMetric() {
				var labels []attribute.KeyValue
				for _, l := range m.GetLabel() {
					labels = append(labels, attribute.String(l.GetName(), l.GetValue()))
				}
				want[series(f.GetName(), f.GetType() == dto.MetricType_COUNTER, attribute.NewSet(labels...))] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
		require.Greater(t, len(want), 30)

		scopes, err := bridge.NewMetricProducer(bridge.WithGatherer(reg)).Produce(t.Context())
		require.NoError(t, err)
		require.Len(t, scopes, 1)
		got := map[string]float64{}
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
				got[series(name, kind == otlptranslator.MetricTypeMonotonicCounter, p.Attributes)] = p.Value
			}
		}
		require.Equal(t, want, got)
	})
}

// series names a series by its metric, kind and labels.
func series(name string, counter bool, labels attribute.Set) string {
	return fmt.Sprintf("%s, counter %t, %s", name, counter, labels.Encoded(attribute.DefaultEncoder()))
}
