package metrics_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
)

// gather returns the values by series name, followed by the state, result or size if any.
func gather(t require.TestingT, cs ...prometheus.Collector) map[string]float64 {
	reg := prometheus.NewPedanticRegistry()
	for _, c := range cs {
		require.NoError(t, reg.Register(c))
	}
	families, err := reg.Gather()
	require.NoError(t, err)
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			name := f.GetName()
			for _, l := range m.GetLabel() {
				switch l.GetName() {
				case "idworker_state", "idworker_result", "idworker_size":
					name += "/" + l.GetValue()
				}
			}
			v := m.GetGauge().GetValue()
			if f.GetType() == dto.MetricType_COUNTER {
				v = m.GetCounter().GetValue()
			}
			got[name] = v
		}
	}
	return got
}

func TestFixedWorker(t *testing.T) {
	t.Parallel()
	w := fixed(t, 7)
	for _, n := range []int{1, 10, 11, 100, 101, 1000, 1001, 0} {
		require.NoError(t, w.NextIDs(t.Context(), make([]int64, n)))
	}
	got := gather(t, metrics.NewCollector(w))
	want := map[string]float64{
		"idworker_batches_total/1-10": 2, "idworker_batches_total/11-100": 2, "idworker_batches_total/101-1000": 2, "idworker_batches_total/1001+": 1,
		"idworker_ids_total": 2224, "idworker_worker_id": 7, "idworker_issuing": 1,
		"idworker_lease_losses_total": 0, "idworker_failing_seconds": 0, "idworker_pool_size": 32,
		"idworker_renewals_total/ok": 0, "idworker_renewals_total/failed": 0, "idworker_waits_total": 0,
		"idworker_state/ready": 1, "idworker_state/not_started": 0, "idworker_state/quarantined": 0,
		"idworker_state/borrowing": 0, "idworker_state/expired": 0, "idworker_state/stopped": 0,
		"idworker_state/unavailable": 0,
	}
	left := time.Until(w.Layout().Ends()).Seconds()
	require.InDelta(t, left, got["idworker_layout_expiry_seconds"], 60)
	require.Contains(t, got, "idworker_lead_seconds")
	delete(got, "idworker_layout_expiry_seconds")
	delete(got, "idworker_lead_seconds")
	require.Equal(t, want, got, "and no series of a lease")

	require.NoError(t, w.Stop(t.Context()))
	got = gather(t, metrics.NewCollector(w))
	require.Zero(t, got["idworker_issuing"])
	require.EqualValues(t, 1, got["idworker_state/stopped"])
}

// The lease is renewed, then lost and replaced, then expires while the center is away.
func TestLease(t *testing.T) {
	t.Parallel()
	center := center(t, 100*time.Millisecond, "orders")
	w := open(t, idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{TTL: time.Second}, Store: idworker.StoreConfig{Skew: 100 * time.Millisecond}}, center)
	c := metrics.NewCollector(w)
	got := gather(t, c)
	require.EqualValues(t, 1, got["idworker_issuing"])
	require.InDelta(t, 0.5, got["idworker_ids_stop_in_seconds"], 0.6)
	require.Zero(t, got["idworker_failing_seconds"])
	require.Zero(t, got["idworker_renewals_total/failed"])
	first := got["idworker_worker_id"]
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		require.Positive(t, gather(t, c)["idworker_renewals_total/ok"])
	}, 30*time.Second, 20*time.Millisecond)

	center.Advance(2 * time.Second) // past what was lent: the next renewal finds it lost
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got := gather(t, c)
		require.EqualValues(t, 1, got["idworker_lease_losses_total"])
		require.EqualValues(t, 1, got["idworker_state/ready"])
		require.NotEqual(t, first, got["idworker_worker_id"])
	}, 30*time.Second, 20*time.Millisecond)

	center.Intercept(func(_ context.Context, verb string, after bool) error {
		return fmt.Errorf("no answer to %s, after is %v", verb, after)
	})
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got := gather(t, c)
		require.Positive(t, got["idworker_failing_seconds"])
		require.EqualValues(t, 1, got["idworker_state/expired"])
		require.Positive(t, got["idworker_renewals_total/failed"])
		require.Zero(t, got["idworker_issuing"])
		require.Negative(t, got["idworker_ids_stop_in_seconds"])
	}, 30*time.Second, 20*time.Millisecond)
	waits := gather(t, c)["idworker_waits_total"]
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err := w.NextIDWait(ctx)
	require.ErrorIs(t, err, snowlease.ErrLeaseExpired)
	require.InDelta(t, waits+1, gather(t, c)["idworker_waits_total"], 0)

	center.Intercept(nil)
	require.EventuallyWithT(t, func(t *assert.CollectT) {
		got := gather(t, c)
		require.EqualValues(t, 1, got["idworker_issuing"])
		require.Zero(t, got["idworker_failing_seconds"])
		require.Positive(t, got["idworker_ids_stop_in_seconds"])
	}, 30*time.Second, 20*time.Millisecond)
	require.NoError(t, w.Stop(t.Context()))
	require.NotContains(t, gather(t, c), "idworker_ids_stop_in_seconds", "they have stopped")
}

func TestQuarantine(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{Namespace: "orders", Store: idworker.StoreConfig{Skew: 15 * time.Second}}
	center := center(t, cfg.Store.Skew, "orders")
	w := open(t, cfg, center)
	center.Reincarnate("another")
	short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.Error(t, w.Reset(short))
	require.Eventually(t, func() bool { return w.Status().State == snowlease.StateQuarantined }, 10*time.Second, time.Millisecond)
	got := gather(t, metrics.NewCollector(w))
	require.EqualValues(t, 1, got["idworker_state/quarantined"])
	require.Zero(t, got["idworker_issuing"])
	require.NotContains(t, got, "idworker_worker_id")
	require.NotContains(t, got, "idworker_ids_stop_in_seconds")

	require.NoError(t, fx.New(fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Populate(&w),
		fx.Provide(func() lease.Center { return center })).Err())
	got = gather(t, metrics.NewCollector(w))
	require.EqualValues(t, 1, got["idworker_state/not_started"])
	require.Zero(t, got["idworker_failing_seconds"])
}

// A scrape shows two workers, with names that follow Prometheus' conventions.
func TestScrape(t *testing.T) {
	t.Parallel()
	center := center(t, lease.DefaultSkew, "orders", "audit")
	orders := open(t, idworker.Config{Namespace: "orders"}, center)
	audit := open(t, idworker.Config{Namespace: "audit"}, center)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(metrics.NewCollector(orders, audit, fixed(t, 3)), metrics.NewPoolCollector(orders, 0))
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)

	srv := httptest.NewServer(promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}))
	defer srv.Close()
	defer srv.Client().CloseIdleConnections()
	resp, err := srv.Client().Get(srv.URL)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(body))
	for _, line := range []string{
		`idworker_pool_used{idworker_center="memory",idworker_namespace="orders"} 1`,
		`idworker_pool_size{idworker_center="memory",idworker_namespace="audit"} 32`,
		`idworker_worker_id{idworker_center="fixed",idworker_namespace="local"} 3`,
		`# TYPE idworker_ids_total counter`,
	} {
		require.Contains(t, strings.Split(string(body), "\n"), line)
	}
	promtool(t, body, "check", "metrics")
}

func TestWorkersOfOneNamespace(t *testing.T) {
	t.Parallel()
	center := center(t, lease.DefaultSkew, "orders")
	cfg := idworker.Config{Namespace: "orders"}
	one, two := open(t, cfg, center), open(t, cfg, center)
	reg := prometheus.NewPedanticRegistry()
	require.ErrorContains(t, reg.Register(metrics.NewCollector(one, two)), `two workers of namespace "orders" and center "memory"`)

	alone := prometheus.NewPedanticRegistry()
	require.NoError(t, alone.Register(metrics.NewCollector(one)))
	require.ErrorAs(t, alone.Register(metrics.NewCollector(two)), new(prometheus.AlreadyRegisteredError))

	for use, w := range map[string]*idworker.IdWorker{"single": one, "bulk": two} {
		reg.MustRegister(prometheus.WrapCollectorWith(prometheus.Labels{"use": use}, metrics.NewCollector(w)))
	}
	_, err := reg.Gather()
	require.NoError(t, err)
}

func TestNilWorker(t *testing.T) {
	t.Parallel()
	for _, c := range []prometheus.Collector{
		metrics.NewCollector(nil), metrics.NewCollector(fixed(t, 1), (*idworker.IdWorker)(nil)), metrics.NewPoolCollector(nil, 0), metrics.NewPoolCollector((*idworker.IdWorker)(nil), 0),
	} {
		require.ErrorContains(t, prometheus.NewRegistry().Register(c), "is nil")
	}
	_, err := testutil.CollectAndLint(metrics.NewCollector(nil))
	require.Error(t, err, "whoever does not register it hears it too")
}
