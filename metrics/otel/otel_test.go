package otel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/otel"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// collect returns the values by name, followed by the state if any.
func collect(t *testing.T, reader sdk.Reader) map[string]float64 {
	t.Helper()
	var rm metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &rm))
	got := map[string]float64{}
	put := func(name string, attrs attribute.Set, v float64) {
		ns, _ := attrs.Value("idworker.namespace")
		center, _ := attrs.Value("idworker.center")
		require.Equal(t, "orders in memory", ns.AsString()+" in "+center.AsString())
		for _, label := range []attribute.Key{"idworker.state", "idworker.result"} {
			if value, ok := attrs.Value(label); ok {
				name += "/" + value.AsString()
			}
		}
		got[name] = v
	}
	for _, scope := range rm.ScopeMetrics {
		require.Equal(t, "github.com/snowlease/snowlease/metrics/otel", scope.Scope.Name)
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Sum[float64]:
				require.True(t, data.IsMonotonic)
				for _, p := range data.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			default:
				t.Fatalf("%s is a %T", m.Name, m.Data)
			}
		}
	}
	return got
}

func TestRegister(t *testing.T) {
	t.Parallel()
	center := memcenter.New()
	req := keeper.NewRequest("orders", snowflake.Layout{})
	req.Owner = lease.NewOwner()
	require.NoError(t, center.Init(t.Context(), req))
	w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders"}, idworker.WithCenter(center))
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Stop(context.Background())) }()
	require.NoError(t, w.NextIDs(t.Context(), make([]int64, 10)))

	reader := sdk.NewManualReader()
	provider := sdk.NewMeterProvider(sdk.WithReader(reader))
	reg, err := otel.Register(w, otel.WithMeterProvider(provider))
	require.NoError(t, err)
	pool, err := otel.RegisterPool(w, 0, otel.WithMeterProvider(provider))
	require.NoError(t, err)
	got := collect(t, reader)
	for name, want := range map[string]float64{
		"idworker.ids": 10, "idworker.issuing": 1, "idworker.lease.losses": 0, "idworker.failing": 0,
		"idworker.worker.id": float64(w.Status().Worker), "idworker.pool.size": 32, "idworker.pool.used": 1,
		"idworker.renewals/ok": 0, "idworker.renewals/failed": 0, "idworker.waits": 0,
		"idworker.state/ready": 1, "idworker.state/stopped": 0,
	} {
		require.Contains(t, got, name)
		require.Equal(t, want, got[name], name)
	}
	for _, name := range []string{"idworker.lead", "idworker.ids_stop_in", "idworker.layout.expiry"} {
		require.Contains(t, got, name)
	}
	require.NoError(t, reg.Unregister())
	require.Len(t, collect(t, reader), 1)
	require.NoError(t, pool.Unregister())
	require.Empty(t, collect(t, reader))
	require.NoError(t, provider.Shutdown(t.Context()))
}

func TestRegisterRefuses(t *testing.T) {
	t.Parallel()
	_, err := otel.Register((*snowlease.Worker)(nil))
	require.ErrorContains(t, err, "nil worker")
	w, err := snowlease.Fixed(snowflake.Layout{}, 1)
	require.NoError(t, err)
	_, err = otel.Register(w, otel.WithMeterProvider(nil))
	require.ErrorContains(t, err, "the meter provider is nil")
	_, err = otel.RegisterPool(nil, 0)
	require.ErrorContains(t, err, "nil worker")
	reg, err := otel.Register(w)
	require.NoError(t, err, "the global provider, which drops all by default")
	require.NoError(t, reg.Unregister())
}
