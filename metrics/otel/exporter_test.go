package otel_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
	"github.com/snowlease/snowlease/metrics/otel"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/snowflake"
)

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

// With OpenTelemetry's exporter, Prometheus gets the series of package metrics, to which the
// exporter adds only labels of its own.
func TestExporter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that all times are one
		leased := shown{snowlease.Status{
			State: snowlease.StateReady, Namespace: "orders", Center: "mysql db:3306/shop", Worker: 3, Losses: 2, Renewals: 7, Failures: 5, Issued: 40, Waits: 6,
			Batches: snowlease.Batches{UpTo10: 1, UpTo100: 2, UpTo1000: 3, More: 4}, Lead: time.Second, Pool: snowlease.Pool{Size: 32, First: 0, Last: 31},
			Now: time.Now(), Ceiling: time.Now().Add(20 * time.Second), FailingSince: time.Now().Add(-time.Second),
		}}
		sequence := shown{snowlease.Status{State: snowlease.StateReady, Namespace: "items", Center: "redis", Sequence: &snowlease.Sequence{Calls: 3, Reserved: 30, AtHand: 4}}}
		tickets := numbers{{State: segment.StateReady, Name: "tickets", Store: "redis", Last: 50, Max: 100, Remaining: 10, Issued: 40, Reservations: 5, Failures: 2, Waits: 3}}

		direct := prometheus.NewPedanticRegistry()
		direct.MustRegister(metrics.NewCollector(leased, sequence), metrics.NewPoolCollector(leased, 0), metrics.NewSegmentCollector(tickets))

		exported := prometheus.NewPedanticRegistry()
		reader, err := exporter.New(exporter.WithRegisterer(exported))
		require.NoError(t, err)
		provider := otel.WithMeterProvider(sdk.NewMeterProvider(sdk.WithReader(reader)))
		for _, w := range []snowlease.Monitored{leased, sequence} {
			_, err = otel.Register(w, provider)
			require.NoError(t, err)
		}
		_, err = otel.RegisterPool(leased, 0, provider)
		require.NoError(t, err)
		_, err = otel.RegisterSegments(tickets, provider)
		require.NoError(t, err)

		want := series(t, direct)
		require.Greater(t, len(want), 30)
		require.Equal(t, want, series(t, exported))
	})
}

// series returns the values by kind, name and labels.
func series(t *testing.T, reg *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		if f.GetName() == "target_info" {
			continue
		}
		for _, m := range f.GetMetric() {
			name := f.GetType().String() + " " + f.GetName()
			for _, l := range m.GetLabel() {
				if !strings.HasPrefix(l.GetName(), "otel_scope_") {
					name += " " + l.GetName() + "=" + l.GetValue()
				}
			}
			got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return got
}
