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
	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics/metricsfx"
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
	app := fx.New(fx.NopLogger, idworker.Module, metricsfx.Module, fx.Supply(cfg), fx.Populate(&w),
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
					name := f.GetName() + "{" + labels + "}"
					for len(s.series[name]) < s.scrapes {
						s.series[name] = append(s.series[name], "_")
					}
					s.series[name] = append(s.series[name], strconv.FormatFloat(valueOf(f, m), 'f', -1, 64))
				}
			}
		}
		s.scrapes++
	}
}

// A claim is what an expression yields at a time in a scene.
type claim struct {
	expr string
	at   time.Duration
	want float64
}

// test is a test of promtool: that the claims hold on the series of the scene.
func (s *scene) test(claims ...claim) string {
	var b strings.Builder
	fmt.Fprintf(&b, "- interval: %v\n  input_series:\n", s.interval)
	for name, values := range s.series {
		fmt.Fprintf(&b, "  - {series: '%s', values: %q}\n", name, strings.Join(values, " "))
	}
	b.WriteString("  promql_expr_test:\n")
	for _, c := range claims {
		fmt.Fprintf(&b, "  - {expr: %q, eval_time: %v, exp_samples: [{labels: '{}', value: %v}]}\n", c.expr, c.at, c.want)
	}
	return b.String()
}

// end is the time of the last scrape.
func (s *scene) end() time.Duration { return time.Duration(s.scrapes-1) * s.interval }

// An alert is a rule of alerts.yml.
type alert struct{ name, severity string }

// fired counts the series of a rule that fired until now, firing those that fire now.
func (a alert) fired() string {
	return "count(count_over_time(" + a.series() + "[1d])) or vector(0)"
}

func (a alert) firing() string { return "count(" + a.series() + ") or vector(0)" }

func (a alert) series() string {
	return fmt.Sprintf(`ALERTS{alertname=~"%s",severity=~"%s",alertstate="firing"}`, a.name, a.severity)
}

// anyAlert of a severity, or of all.
func anyAlert(severity string) alert { return alert{".*", severity} }

type rule struct {
	Alert       string
	Expr        string
	Labels      struct{ Severity string }
	Annotations map[string]string
}

func rules(t *testing.T) (all []rule) {
	t.Helper()
	var file struct{ Groups []struct{ Rules []rule } }
	require.NoError(t, yaml.Unmarshal([]byte(read(t, "alerts.yml")), &file))
	for _, g := range file.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

// checkTests lets promtool run tests of alerts.yml.
func checkTests(t *testing.T, interval time.Duration, tests string) {
	t.Helper()
	rules, err := filepath.Abs(filepath.Join(dashboards, "alerts.yml"))
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "test.yml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "rule_files: [%q]\nevaluation_interval: %v\ntests:\n%s", rules, interval, tests), 0o600))
	promtool(t, nil, "test", "rules", file)
}

// play runs a scene in which scrapes come at a phase, 0 to 3, of the interval.
func play(t *testing.T, interval time.Duration, phase int, play func(*scene)) *scene {
	t.Helper()
	s := &scene{interval: interval, series: map[string][]string{}}
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		s.T, s.center = t, memcenter.New()
		time.Sleep(interval * time.Duration(phase) / 4)
		play(s)
	})
	return s
}

// Each alert fires in its scene, on the series that metricsfx.Module yields and with the longest
// interval that alerts.yml allows. No alert fires when all is well.
func TestAlertsFireByTheModule(t *testing.T) {
	t.Parallel()
	named := regexp.MustCompile(`at least this often:\n# (\d+) s for IdWorkerIDsWillStop, (\d+) s for IdWorkerQuarantine, (\d+) s for the others`).FindStringSubmatch(read(t, "alerts.yml"))
	require.NotNil(t, named)
	interval := func(i int) time.Duration {
		n, err := strconv.Atoi(named[i])
		require.NoError(t, err)
		return time.Duration(n) * time.Second
	}
	scenes := []struct {
		alert    alert
		interval time.Duration
		play     func(*scene)
	}{
		{alert{"IdWorkerIDsWillStop", "warning"}, interval(1), outage},
		{alert{"IdWorkerIDsWillStop", "critical"}, interval(3), func(s *scene) {
			s.process(idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{TTL: 10 * time.Minute}})
			s.run(2 * time.Minute)
			s.down()
			s.run(7 * time.Minute)
		}},
		{alert{"IdWorkerQuarantine", "info"}, interval(2), func(s *scene) {
			s.process(idworker.Config{Namespace: "orders"})
			s.run(time.Minute)
			s.center.Reincarnate("another")
			s.run(5 * time.Minute)
		}},
		{alert{"IdWorkerQuarantine", "info"}, interval(2), func(s *scene) {
			s.unopened = true
			s.process(idworker.Config{Namespace: "orders"})
			s.run(5 * time.Minute)
		}},
		{alert{"IdWorkerIssuesNoIDs", "critical"}, interval(3), outage},
		{alert{"IdWorkerLosesLeases", "warning"}, interval(3), func(s *scene) {
			s.process(idworker.Config{Namespace: "orders"})
			s.run(5 * time.Minute)
			for range 2 {
				s.center.Advance(time.Minute) // past what was lent
				s.run(5 * time.Minute)
			}
		}},
		{alert{"IdWorkerPoolNearlyFull", "warning"}, interval(3), func(s *scene) {
			for range 7 {
				s.process(idworker.Config{Namespace: "orders", Layout: snowflake.Layout{WorkerBits: 3}})
			}
			s.run(10 * time.Minute)
		}},
		{alert{"IdWorkerPoolNearlyFull", "warning"}, interval(3), func(s *scene) { // each process may borrow only a part of the pool
			for range 7 {
				s.process(idworker.Config{Namespace: "orders", Workers: "8-15"})
			}
			s.run(10 * time.Minute)
		}},
		{alert{"IdWorkerSharedWorkerID", "critical"}, interval(3), func(s *scene) {
			one := int64(1)
			for range 2 {
				cfg := idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: &one}}
				cfg.Local.Stateless = true
				s.process(cfg)
			}
			s.run(5 * time.Minute)
		}},
		{alert{"IdWorkerBurst", "warning"}, interval(3), func(s *scene) {
			w := s.process(idworker.Config{Namespace: "orders", Layout: snowflake.Layout{SequenceBits: 8}})
			s.run(time.Minute)
			for range 5 {
				require.NoError(s, w.NextIDs(s.Context(), make([]int64, 256*900)))
				s.run(time.Minute)
			}
		}},
		{alert{"IdWorkerTimeFieldEnding", "warning"}, interval(3), func(s *scene) {
			l := snowflake.Layout{SequenceBits: 21}.WithDefaults() // four years
			l.Epoch -= time.Until(l.Ends().AddDate(-1, -6, 0)).Milliseconds()
			s.process(idworker.Config{Namespace: "orders", Layout: l})
			s.run(2 * time.Hour)
		}},
	}
	played := map[alert]bool{}
	for _, sc := range scenes {
		played[sc.alert] = true
	}
	for _, r := range rules(t) {
		require.NotEqual(t, strings.HasPrefix(r.Alert, "IdWorkerSegment"), played[alert{r.Alert, r.Labels.Severity}], "%v has a scene, or is of segments", r)
	}
	for i, sc := range scenes {
		t.Run(fmt.Sprintf("%s/%d", sc.alert.name, i), func(t *testing.T) {
			t.Parallel()
			tests := ""
			for phase := range 4 {
				s := play(t, sc.interval, phase, sc.play)
				tests += s.test(claim{sc.alert.fired() + " > bool 0", s.end(), 1})
			}
			s := play(t, sc.interval, 0, func(s *scene) {
				s.process(idworker.Config{Namespace: "orders"})
				s.process(idworker.Config{Namespace: "orders"})
				s.run(20 * time.Minute)
			})
			checkTests(t, sc.interval, tests+s.test(claim{anyAlert(".*").fired(), s.end(), 0}))
		})
	}
}

// In a first start and two losses of the center's records, nothing fires but what says so.
func TestLossesAreNoOutage(t *testing.T) {
	t.Parallel()
	for _, interval := range []time.Duration{5 * time.Second, 15 * time.Second, time.Minute} {
		t.Run(interval.String(), func(t *testing.T) {
			t.Parallel()
			tests := ""
			for phase := range 4 {
				s := play(t, interval, phase, func(s *scene) {
					s.unopened = true
					s.process(idworker.Config{Namespace: "orders"})
					s.run(4 * time.Minute)
					s.center.Reincarnate("another")
					s.run(4 * time.Minute)
					s.center.Wipe()
					s.process(idworker.Config{Namespace: "orders"})
					s.run(4 * time.Minute)
				})
				tests += s.test(claim{anyAlert("warning|critical").fired(), s.end(), 0})
			}
			checkTests(t, interval, tests)
		})
	}
}

// An outage of two minutes warns before ids stop, pages at the first scrape after, and is
// over when ids are back. One that heals before ids stop pages nobody.
func TestOutage(t *testing.T) {
	t.Parallel()
	const interval = 10 * time.Second
	willStop, noIDs := alert{"IdWorkerIDsWillStop", "warning"}, alert{"IdWorkerIssuesNoIDs", "critical"}
	tests := ""
	for phase := range 4 {
		var began, last, healed time.Duration // since the first scrape; last is of the last one with ids
		s := play(t, interval, phase, func(s *scene) {
			w := s.process(idworker.Config{Namespace: "orders"})
			first := time.Now()
			s.run(time.Minute)
			s.down()
			began = time.Since(first)
			for range 2 * time.Minute / interval {
				if _, err := w.NextID(); err == nil {
					last = time.Since(first)
				}
				s.run(interval)
			}
			s.up()
			healed = time.Since(first)
			s.run(time.Minute)
		})
		tests += s.test(
			claim{anyAlert(".*").fired(), began, 0},
			claim{noIDs.fired(), last, 0},
			claim{willStop.fired(), last, 1},
			claim{noIDs.firing(), last + interval, 1},
			claim{willStop.firing(), last + interval, 0},
			claim{noIDs.firing(), healed - interval, 1},
			claim{anyAlert(".*").firing(), healed + interval, 0},
			claim{anyAlert(".*").fired(), s.end(), 2},
		)
		s = play(t, interval, phase, func(s *scene) {
			s.process(idworker.Config{Namespace: "orders"})
			s.run(time.Minute)
			s.down()
			s.run(15 * time.Second)
			s.up()
			s.run(time.Minute)
		})
		tests += s.test(claim{anyAlert("critical").fired(), s.end(), 0}, claim{anyAlert(".*").firing(), s.end(), 0})
	}
	checkTests(t, interval, tests)
}

// down makes the center fail.
func (s *scene) down() {
	s.center.Intercept(func(context.Context, string, bool) error { return errors.New("connection refused") })
}

// up makes it answer again.
func (s *scene) up() { s.center.Intercept(nil) }

func outage(s *scene) {
	s.process(idworker.Config{Namespace: "orders"})
	s.run(2 * time.Minute)
	s.down()
	s.run(5 * time.Minute)
}
