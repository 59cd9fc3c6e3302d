package otel_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/otel"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
)

func TestRegisterSegments(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer func() { require.NoError(t, client.Close()) }()
	store, err := redissegments.New(client, redisseq.WithQuarantine(lease.QuarantineNever))
	require.NoError(t, err)
	require.NoError(t, store.Create(t.Context(), "tickets", 1))
	var s *idworker.Segments
	app := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Populate(&s), fx.Supply(client, idworker.Config{
		Store:    idworker.StoreConfig{Quarantine: lease.QuarantineNever},
		Segments: []segment.Config{{Name: "tickets", Order: segment.OrderStrict, Max: 4}},
	}))
	app.RequireStart()
	defer app.RequireStop()
	tickets, err := s.Of("tickets")
	require.NoError(t, err)
	require.NoError(t, tickets.NextIDs(t.Context(), make([]int64, 3)))

	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	reg, err := otel.RegisterSegments(s, otel.WithMeterProvider(provider))
	require.NoError(t, err)
	read := func() map[string]float64 {
		var rm metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(t.Context(), &rm))
		got := map[string]float64{}
		put := func(name string, points []metricdata.DataPoint[float64]) {
			for _, p := range points {
				segment, _ := p.Attributes.Value("idworker.segment.name")
				store, _ := p.Attributes.Value("idworker.segment.store")
				require.Contains(t, store.AsString(), "redis ")
				got[name+" "+segment.AsString()] = p.Value
			}
		}
		for _, scope := range rm.ScopeMetrics {
			for _, m := range scope.Metrics {
				switch data := m.Data.(type) {
				case metricdata.Gauge[float64]:
					put(m.Name, data.DataPoints)
				case metricdata.Sum[float64]:
					require.True(t, data.IsMonotonic)
					put(m.Name, data.DataPoints)
				default:
					t.Fatalf("%s is a %T", m.Name, m.Data)
				}
			}
		}
		return got
	}
	require.Equal(t, map[string]float64{
		"idworker.segment.issuing tickets": 1, "idworker.segment.remaining tickets": 0, "idworker.segment.issued tickets": 3,
		"idworker.segment.reservations tickets": 1, "idworker.segment.failures tickets": 0, "idworker.segment.waits tickets": 0,
		"idworker.segment.used tickets": 0.75, "idworker.segment.failing tickets": 0,
	}, read())
	require.NoError(t, reg.Unregister())
	require.Empty(t, read())
	require.NoError(t, provider.Shutdown(t.Context()))

	_, err = otel.RegisterSegments((*idworker.Segments)(nil))
	require.ErrorContains(t, err, "nil segments")
	_, err = otel.RegisterSegments(s, otel.WithMeterProvider(nil))
	require.ErrorContains(t, err, "the meter provider is nil")
}
