package metrics_test

import (
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
)

// series returns the values by metric and segment.
func series(t *testing.T, c prometheus.Collector) map[string]float64 {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(c))
	families, err := reg.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			require.Contains(t, m.GetLabel()[1].GetValue(), "redis ", "the store")
			v := m.GetGauge().GetValue()
			if f.GetType() == dto.MetricType_COUNTER {
				v = m.GetCounter().GetValue()
			}
			got[f.GetName()+" "+m.GetLabel()[0].GetValue()] = v
		}
	}
	return got
}

func TestSegments(t *testing.T) {
	t.Parallel()
	m := miniredis.RunT(t)
	client := redis.NewClient(&redis.Options{Addr: m.Addr(), MaxRetries: -1})
	defer func() { require.NoError(t, client.Close()) }()
	store, err := redissegments.New(client, redisseq.WithQuarantine(lease.QuarantineNever))
	require.NoError(t, err)
	cfg := idworker.Config{Store: idworker.StoreConfig{Quarantine: lease.QuarantineNever}, Segments: []segment.Config{
		{Name: "invoices", Max: 1000, Step: 10, MaxStep: 10},
		{Name: "tickets", Order: segment.OrderStrict, Max: 4},
	}}
	for _, c := range cfg.Segments {
		require.NoError(t, store.Create(t.Context(), c.Name, 1))
	}
	var s *idworker.Segments
	var collector prometheus.Collector
	app := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Provide(func() redis.UniversalClient { return client }), fx.Populate(&s),
		fx.Provide(fx.Annotate(metrics.NewSegmentCollector, fx.From(new(*idworker.Segments)), fx.ResultTags(`group:"metrics-collectors"`))),
		fx.Invoke(func(c collectors) { collector = c.All[0] }))
	require.Empty(t, series(t, collector), "nothing is open yet")
	app.RequireStart()
	defer app.RequireStop()

	invoices, err := s.Of("invoices")
	require.NoError(t, err)
	require.NoError(t, invoices.NextIDs(t.Context(), make([]int64, 4)))
	tickets, err := s.Of("tickets")
	require.NoError(t, err)
	require.NotContains(t, series(t, collector), "idworker_segment_used_ratio tickets", "it has reserved none yet")
	require.NoError(t, tickets.NextIDs(t.Context(), make([]int64, 3)))
	require.Eventually(t, func() bool { return s.Status()[0].Reservations == 2 }, 30*time.Second, time.Millisecond, "one segment behind the current one")
	m.SetError("LOADING away")
	_, err = tickets.NextID()
	require.ErrorContains(t, err, "LOADING away")

	got := series(t, collector)
	failing := got["idworker_segment_failing_seconds tickets"]
	require.Positive(t, failing)
	require.GreaterOrEqual(t, time.Since(s.Status()[1].FailingSince).Seconds(), failing)
	delete(got, "idworker_segment_failing_seconds tickets")
	require.Equal(t, map[string]float64{
		"idworker_segment_failing_seconds invoices": 0,
		"idworker_segment_issuing invoices":         1, "idworker_segment_issuing tickets": 0,
		"idworker_segment_remaining invoices": 16, "idworker_segment_remaining tickets": 0,
		"idworker_segment_issued_total invoices": 4, "idworker_segment_issued_total tickets": 3,
		"idworker_segment_reservations_total invoices": 2, "idworker_segment_reservations_total tickets": 1,
		"idworker_segment_failures_total invoices": 0, "idworker_segment_failures_total tickets": 1,
		"idworker_segment_waits_total invoices": 0, "idworker_segment_waits_total tickets": 0,
		"idworker_segment_used_ratio invoices": 0.02, "idworker_segment_used_ratio tickets": 0.75,
	}, got)
	m.SetError("")

	reg := prometheus.NewPedanticRegistry()
	require.NoError(t, reg.Register(collector))
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.ErrorContains(t, prometheus.NewRegistry().Register(metrics.NewSegmentCollector((*idworker.Segments)(nil))), "the segments are nil")
}
