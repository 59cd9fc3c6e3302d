package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
	"github.com/snowlease/snowlease/snowflake"
)

// A scene runs processes of one service in a bubble of synctest.
type scene struct {
	*testing.T
	center   *memcenter.Center
	interval time.Duration
	targets  []*prometheus.Registry
	scrapes  int
	series   map[string][]string // the values of all scrapes, by name and labels
	unopened bool                // the namespace is new to the center
}

// process starts an application with the modules and a registry, and returns its worker.
func (s *scene) process(cfg idworker.Config) *idworker.IdWorker {
	s.Helper()
	if req, err := cfg.Request(); cfg.Mode != idworker.ModeLocal && !s.unopened {
		require.NoError(s, err)
		if err := s.center.Init(s.Context(), req); !errors.Is(err, lease.ErrExists) {
			require.NoError(s, err)
		}
	}
	var w *idworker.IdWorker
	reg := prometheus.NewPedanticRegistry()
	lc := &lifecycle{}
	app := fx.New(fx.NopLogger, idworker.Module, metrics.Module, fx.Supply(cfg), fx.Populate(&w),
		fx.Provide(func() lease.Center { return s.center }), fx.Decorate(func() fx.Lifecycle { return lc }),
		fx.Invoke(func(c collectors) { reg.MustRegister(c.All...) }))
	require.NoError(s, app.Err())
	for _, h := range lc.hooks {
		if h.OnStart != nil {
			require.NoError(s, h.OnStart(s.Context()))
		}
		if h.OnStop != nil {
			s.Cleanup(func() { _ = h.OnStop(context.Background()) })
		}
	}
	s.targets = append(s.targets, reg)
	return w
}

// lifecycle has no goroutine for signals, which would outlive the bubble.
type lifecycle struct{ hooks []fx.Hook }

func (l *lifecycle) Append(h fx.Hook) { l.hooks = append(l.hooks, h) }

// run scrapes all processes at intervals for d.
func (s *scene) run(d time.Duration) {
	s.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(s.interval) {
		for i, reg := range s.targets {
			families, err := reg.Gather()
			require.NoError(s, err)
			for _, f := range families {
				for _, m := range f.GetMetric() {
					labels := fmt.Sprintf(`instance="%d",job="shop"`, i)
					for _, l := range m.GetLabel() {
						labels += fmt.Sprintf(",%s=%q", l.GetName(), l.GetValue())
					}
					v := m.GetGauge().GetValue()
					if f.GetType() == dto.MetricType_COUNTER {
						v = m.GetCounter().GetValue()
					}
					name := f.GetName() + "{" + labels + "}"
					for len(s.series[name]) < s.scrapes {
						s.series[name] = append(s.series[name], "_")
					}
					s.series[name] = append(s.series[name], strconv.FormatFloat(v, 'f', -1, 64))
				}
			}
		}
		s.scrapes++
	}
}

// verdict is a test of promtool: whether an alert fires at any time in the scene.
func (s *scene) verdict(alert string, fires int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- interval: %v\n  input_series:\n", s.interval)
	for name, values := range s.series {
		fmt.Fprintf(&b, "  - {series: '%s', values: %q}\n", name, strings.Join(values, " "))
	}
	fmt.Fprintf(&b, "  promql_expr_test:\n  - expr: 'count(count_over_time(ALERTS{alertname=\"%s\",alertstate=\"firing\"}[1d])) > bool 0 or vector(0)'\n    eval_time: %v\n    exp_samples: [{labels: '{}', value: %d}]\n",
		alert, time.Duration(s.scrapes)*s.interval, fires)
	return b.String()
}

// Each alert fires in its scene, on the series that metrics.Module exports and with the
// longest interval that alerts.yml allows. No alert fires when all is well.
func TestAlertsFireByTheModule(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(dashboards, "alerts.yml"))
	require.NoError(t, err)
	named := regexp.MustCompile(`at least this often:\n# (\d+) s for IdWorkerLeaseExpiring, (\d+) s for IdWorkerQuarantine, (\d+) s for the others`).FindStringSubmatch(string(text))
	require.NotNil(t, named)
	interval := func(i int) time.Duration {
		n, err := strconv.Atoi(named[i])
		require.NoError(t, err)
		return time.Duration(n) * time.Second
	}
	scenes := []struct {
		alert    string
		interval time.Duration
		play     func(*scene)
	}{
		{"IdWorkerLeaseExpiring", interval(1), func(s *scene) {
			s.process(idworker.Config{Namespace: "orders"})
			s.run(time.Minute)
			s.down()
			s.run(time.Minute)
		}},
		{"IdWorkerQuarantine", interval(2), func(s *scene) {
			s.process(idworker.Config{Namespace: "orders"})
			s.run(time.Minute)
			s.center.Reincarnate("another")
			s.run(5 * time.Minute)
		}},
		{"IdWorkerQuarantine", interval(2), func(s *scene) {
			s.unopened = true
			s.process(idworker.Config{Namespace: "orders"})
			s.run(5 * time.Minute)
		}},
		{"IdWorkerIssuesNoIDs", interval(3), outage},
		{"IdWorkerRenewalFailing", interval(3), outage},
		{"IdWorkerLeaseLost", interval(3), func(s *scene) {
			s.process(idworker.Config{Namespace: "orders"})
			s.run(5 * time.Minute)
			s.center.Advance(time.Minute) // past what was lent
			s.run(5 * time.Minute)
		}},
		{"IdWorkerPoolNearlyFull", interval(3), func(s *scene) {
			for range 25 {
				s.process(idworker.Config{Namespace: "orders"})
			}
			s.run(10 * time.Minute)
		}},
		{"IdWorkerPoolNearlyFull", interval(3), func(s *scene) { // each process may borrow only a part of the pool
			for range 7 {
				s.process(idworker.Config{Namespace: "orders", Workers: "8-15"})
			}
			s.run(10 * time.Minute)
		}},
		{"IdWorkerSharedWorkerID", interval(3), func(s *scene) {
			one := int64(1)
			for range 2 {
				cfg := idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: &one}}
				cfg.Local.Stateless = true
				s.process(cfg)
			}
			s.run(5 * time.Minute)
		}},
		{"IdWorkerBurst", interval(3), func(s *scene) {
			w := s.process(idworker.Config{Namespace: "orders", Layout: snowflake.Layout{SequenceBits: 8}})
			s.run(time.Minute)
			for range 5 {
				require.NoError(s, w.NextIDs(s.Context(), make([]int64, 256*900)))
				s.run(time.Minute)
			}
		}},
		{"IdWorkerTimeFieldEnding", interval(3), func(s *scene) {
			l := snowflake.Layout{SequenceBits: 21}.WithDefaults() // four years
			l.Epoch -= time.Until(l.Ends().AddDate(-1, -6, 0)).Milliseconds()
			s.process(idworker.Config{Namespace: "orders", Layout: l})
			s.run(2 * time.Hour)
		}},
	}
	played := map[string]bool{}
	for _, sc := range scenes {
		played[sc.alert] = true
	}
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(text), -1) {
		require.NotEqual(t, strings.HasPrefix(alert[1], "IdWorkerSegment"), played[alert[1]], "%s has a scene, or is of segments", alert[1])
	}
	rules, err := filepath.Abs(filepath.Join(dashboards, "alerts.yml"))
	require.NoError(t, err)
	for i, sc := range scenes {
		t.Run(fmt.Sprintf("%s/%d", sc.alert, i), func(t *testing.T) {
			t.Parallel()
			tests := fmt.Sprintf("rule_files: [%q]\nevaluation_interval: %v\ntests:\n", rules, sc.interval)
			play := func(fires, phase int, play func(*scene)) {
				s := &scene{interval: sc.interval, series: map[string][]string{}}
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
					s.T, s.center = t, memcenter.New()
					time.Sleep(sc.interval * time.Duration(phase) / 4) // shift the scrapes within the interval
					play(s)
				})
				tests += s.verdict(sc.alert, fires)
			}
			for phase := range 4 {
				play(1, phase, sc.play)
			}
			play(0, 0, func(s *scene) {
				s.process(idworker.Config{Namespace: "orders"})
				s.process(idworker.Config{Namespace: "orders"})
				s.run(20 * time.Minute)
			})
			file := filepath.Join(t.TempDir(), "test.yml")
			require.NoError(t, os.WriteFile(file, []byte(tests), 0o600))
			promtool(t, nil, "test", "rules", file)
		})
	}
}

// In a first start and two losses of the center's records, only the alerts for these fire.
func TestLossesAreNoOutage(t *testing.T) {
	t.Parallel()
	rules, err := filepath.Abs(filepath.Join(dashboards, "alerts.yml"))
	require.NoError(t, err)
	text, err := os.ReadFile(rules)
	require.NoError(t, err)
	for _, interval := range []time.Duration{5 * time.Second, 15 * time.Second, time.Minute} {
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			tests := fmt.Sprintf("rule_files: [%q]\nevaluation_interval: %v\ntests:\n", rules, interval)
			for phase := range 4 {
				s := &scene{interval: interval, series: map[string][]string{}, unopened: true}
				synctest.Test(t, func(t *testing.T) {
					time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
					s.T, s.center = t, memcenter.New()
					s.process(idworker.Config{Namespace: "orders"})
					time.Sleep(interval * time.Duration(phase) / 4)
					s.run(4 * time.Minute)
					s.center.Reincarnate("another")
					s.run(4 * time.Minute)
					s.center.Wipe()
					s.process(idworker.Config{Namespace: "orders"})
					s.run(4 * time.Minute)
				})
				for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(text), -1) {
					if alert[1] != "IdWorkerQuarantine" && alert[1] != "IdWorkerLeaseLost" {
						tests += s.verdict(alert[1], 0)
					}
				}
			}
			file := filepath.Join(t.TempDir(), "test.yml")
			require.NoError(t, os.WriteFile(file, []byte(tests), 0o600))
			promtool(t, nil, "test", "rules", file)
		})
	}
}

// down makes the center fail.
func (s *scene) down() {
	s.center.Intercept(func(context.Context, string, bool) error { return errors.New("connection refused") })
}

func outage(s *scene) {
	s.process(idworker.Config{Namespace: "orders"})
	s.run(2 * time.Minute)
	s.down()
	s.run(5 * time.Minute)
}
