package metrics_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

// gather returns the values by series name, followed by the state, result, size or segment if any.
func gather(t *testing.T, cs ...prometheus.Collector) map[string]float64 {
	t.Helper()
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
				case "idworker_state", "idworker_result", "idworker_size", "idworker_segment_name":
					name += "/" + l.GetValue()
				}
			}
			got[name] = valueOf(f, m)
		}
	}
	return got
}

func valueOf(f *dto.MetricFamily, m *dto.Metric) float64 {
	if f.GetType() == dto.MetricType_COUNTER {
		return m.GetCounter().GetValue()
	}
	return m.GetGauge().GetValue()
}

// worker is a worker with a status, which issues ids while it is ready, and with slots.
type worker struct {
	st    snowlease.Status
	slots func(ctx context.Context) ([]lease.Slot, error)
}

func (w worker) Status() snowlease.Status { return w.st }

func (w worker) Healthy() error {
	if w.st.State != snowlease.StateReady {
		return snowlease.ErrLeaseExpired
	}
	return nil
}

func (worker) Layout() snowflake.Layout { return snowflake.Layout{} }

func (w worker) Slots(ctx context.Context) ([]lease.Slot, error) { return w.slots(ctx) }

// The metrics are what the status says. What a worker does not have is absent.
func TestValues(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // where no time passes
		now, pool := time.Now(), snowlease.Pool{Size: 32, First: 8, Last: 15}
		values := map[string]float64{"idworker_layout_expiry_seconds": time.Until(snowflake.Layout{}.Ends()).Seconds(), "idworker_pool_size": 8}
		for _, state := range []string{"ready", "not_started", "quarantined", "borrowing", "expired", "stopped", "unavailable"} {
			values["idworker_state/"+state] = 0
		}
		for _, name := range []string{
			"batches_total/1-10", "batches_total/11-100", "batches_total/101-1000", "batches_total/1001+", "failing_seconds", "ids_total", "issuing",
			"lead_seconds", "lease_losses_total", "renewals_total/failed", "renewals_total/ok", "waits_total",
		} {
			values["idworker_"+name] = 0
		}
		for _, tt := range []struct {
			st      snowlease.Status
			changed map[string]float64
			absent  string
		}{
			{
				snowlease.Status{
					State: snowlease.StateReady, Worker: 7, Now: now, Ceiling: now.Add(20 * time.Second), Lead: 3 * time.Second, Renewals: 5, Failures: 6, Losses: 8, Waits: 9,
					Issued: 2224, Batches: snowlease.Batches{UpTo10: 1, UpTo100: 2, UpTo1000: 3, More: 4},
				},
				map[string]float64{
					"idworker_state/ready": 1, "idworker_issuing": 1, "idworker_worker_id": 7, "idworker_ids_stop_in_seconds": 20, "idworker_lead_seconds": 3, "idworker_ids_total": 2224,
					"idworker_batches_total/1-10": 1, "idworker_batches_total/11-100": 2, "idworker_batches_total/101-1000": 3, "idworker_batches_total/1001+": 4,
					"idworker_renewals_total/ok": 5, "idworker_renewals_total/failed": 6, "idworker_lease_losses_total": 8, "idworker_waits_total": 9,
				},
				"",
			},
			{
				snowlease.Status{State: snowlease.StateExpired, Worker: 7, Now: now, Ceiling: now.Add(-time.Minute), FailingSince: now.Add(-90 * time.Second)},
				map[string]float64{"idworker_state/expired": 1, "idworker_worker_id": 7, "idworker_ids_stop_in_seconds": -60, "idworker_failing_seconds": 90},
				"",
			},
			{snowlease.Status{State: snowlease.StateStopped, Worker: 7, Now: now, Ceiling: now}, map[string]float64{"idworker_state/stopped": 1, "idworker_worker_id": 7}, ""},
			{snowlease.Status{State: snowlease.StateQuarantined, Worker: -1}, map[string]float64{"idworker_state/quarantined": 1}, ""},
			{
				snowlease.Status{State: snowlease.StateReady, Issued: 1, Sequence: &snowlease.Sequence{Calls: 2, Reserved: 64, AtHand: 63}},
				map[string]float64{
					"idworker_state/ready": 1, "idworker_issuing": 1, "idworker_ids_total": 1,
					"idworker_sequence_calls_total": 2, "idworker_sequence_reserved_total": 64, "idworker_sequence_at_hand": 63,
				},
				"idworker_pool_size",
			},
		} {
			want := maps.Clone(values)
			maps.Copy(want, tt.changed)
			delete(want, tt.absent)
			tt.st.Pool = pool
			require.Equal(t, want, gather(t, metrics.NewCollectorOf(worker{st: tt.st})), tt.st.State)
		}

		segments := listOf{
			{Name: "invoices", State: numbers.StateReady, Max: 1000, Last: 20, Remaining: 16, Issued: 4, Reservations: 2, Waits: 5},
			{Name: "tickets", State: numbers.StateWaiting, Max: 4, Failures: 1, FailingSince: now.Add(-time.Minute)},
		}
		require.Equal(t, map[string]float64{
			"idworker_segment_issuing/invoices": 1, "idworker_segment_issuing/tickets": 0,
			"idworker_segment_failing_seconds/invoices": 0, "idworker_segment_failing_seconds/tickets": 60,
			"idworker_segment_remaining/invoices": 16, "idworker_segment_remaining/tickets": 0,
			"idworker_segment_issued_total/invoices": 4, "idworker_segment_issued_total/tickets": 0,
			"idworker_segment_reservations_total/invoices": 2, "idworker_segment_reservations_total/tickets": 0,
			"idworker_segment_failures_total/invoices": 0, "idworker_segment_failures_total/tickets": 1,
			"idworker_segment_waits_total/invoices": 5, "idworker_segment_waits_total/tickets": 0,
			"idworker_segment_used_ratio/invoices": 0.02,
		}, gather(t, metrics.NewSegmentCollector(segments)), "tickets has reserved none yet")
	})
}

// listOf are segments with a status.
type listOf []numbers.Status

func (l listOf) Status() []numbers.Status { return l }

// A scrape shows two workers and a segment, with names that follow Prometheus' conventions.
func TestScrape(t *testing.T) {
	t.Parallel()
	center := center(t, lease.DefaultSkew, "orders", "audit")
	orders := open(t, idworker.Config{Namespace: "orders"}, center)
	audit := open(t, idworker.Config{Namespace: "audit"}, center)
	reg := prometheus.NewPedanticRegistry()
	reg.MustRegister(metrics.NewCollector(orders), metrics.NewCollector(audit), metrics.NewCollector(fixed(t, 3)), metrics.NewPoolCollector(orders), metrics.NewSegmentCollector(listOf{{Name: "invoices", Store: "redis a:1", Remaining: 5}}))
	problems, err := testutil.GatherAndLint(reg)
	require.NoError(t, err)
	require.Empty(t, problems)

	rec := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	require.Equal(t, http.StatusOK, rec.Code, rec.Body)
	for _, line := range []string{
		`idworker_pool_used{idworker_center="memory",idworker_namespace="orders"} 1`,
		`idworker_pool_size{idworker_center="memory",idworker_namespace="audit"} 32`,
		`idworker_worker_id{idworker_center="fixed",idworker_namespace="local"} 3`,
		`idworker_segment_remaining{idworker_segment_name="invoices",idworker_segment_store="redis a:1"} 5`,
		`# TYPE idworker_ids_total counter`,
	} {
		require.Contains(t, strings.Split(rec.Body.String(), "\n"), line)
	}
	promtool(t, rec.Body.Bytes(), "check", "metrics")
}

func TestWorkersOfOneNamespace(t *testing.T) {
	t.Parallel()
	one := worker{st: snowlease.Status{Namespace: "orders", Center: "memory"}}
	two := one
	alone := prometheus.NewPedanticRegistry()
	require.NoError(t, alone.Register(metrics.NewCollectorOf(one)))
	require.ErrorAs(t, alone.Register(metrics.NewCollectorOf(two)), new(prometheus.AlreadyRegisteredError))

	reg := prometheus.NewPedanticRegistry()
	for use, w := range map[string]worker{"single": one, "bulk": two} {
		reg.MustRegister(prometheus.WrapCollectorWith(prometheus.Labels{"use": use}, metrics.NewCollectorOf(w)))
	}
	_, err := reg.Gather()
	require.NoError(t, err)
}

// A count lasts for its time, and an error for 5 s. A center that hangs delays a scrape by 2 s.
func TestPoolRetries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls, down := 0, errors.New("down")
		answer := func(context.Context) error { return down }
		c := metrics.NewPoolOf(worker{snowlease.Status{Pool: snowlease.Pool{Last: 31}}, func(ctx context.Context) ([]lease.Slot, error) {
			calls++
			return []lease.Slot{{Worker: 1, Expires: 2, Now: 1}, {Worker: 32, Expires: 2, Now: 1}}, answer(ctx)
		}})
		used := map[string]float64{"idworker_pool_used": 1}
		require.Empty(t, gather(t, c))
		answer = func(ctx context.Context) error { return ctx.Err() }
		require.Empty(t, gather(t, c))
		require.Equal(t, 1, calls, "a center that has just failed is not asked again")
		time.Sleep(5 * time.Second)
		require.Equal(t, used, gather(t, c))
		time.Sleep(59 * time.Second)
		require.Equal(t, used, gather(t, c))
		require.Equal(t, 2, calls, "the count serves for a minute")
		time.Sleep(2 * time.Second)
		answer = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		began := time.Now()
		require.Empty(t, gather(t, c))
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// In a new namespace and after a loss, all marks lie ahead of the clock, and no worker id
// is used.
func TestUsed(t *testing.T) {
	t.Parallel()
	const now = 1_000_000
	c := metrics.NewPoolOf(worker{snowlease.Status{Pool: snowlease.Pool{Size: 8, First: 1, Last: 6}}, func(context.Context) ([]lease.Slot, error) {
		return []lease.Slot{
			{Worker: 0, Now: now, Holder: "outside", Expires: now + 5000, HighWater: now + 5000},
			{Worker: 1, Now: now, Holder: "lent", Expires: now + 5000, HighWater: now + 5000},
			{Worker: 2, Now: now, Holder: "killed", Expires: now - 1, HighWater: now + 5000},
			{Worker: 3, Now: now, Holder: "killed long ago", Expires: now - 5000, HighWater: now - 1},
			{Worker: 4, Now: now, HighWater: now + 30_000}, // never lent, or given back
			{Worker: 5, Now: now, HighWater: now - 1},
		}, nil
	}})
	require.Equal(t, map[string]float64{"idworker_pool_used": 2}, gather(t, c))
}

func TestNothingToCollectFrom(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]prometheus.Collector{
		"worker": metrics.NewCollector(nil), "worker ": metrics.NewPoolCollector(nil),
		"source of segments": metrics.NewSegmentCollector((*idworker.Numbers)(nil)), "source of segments ": metrics.NewSegmentCollector(nil),
	} {
		require.ErrorContains(t, prometheus.NewRegistry().Register(c), "metrics: the "+strings.TrimSpace(name)+" to collect from is nil")
		sent := make(chan prometheus.Metric, 1)
		c.Collect(sent)
		require.Empty(t, sent)
	}
}
