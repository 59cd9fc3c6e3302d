package metrics_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/metrics"
)

const dashboards = "../deploy/dashboards"

var metricName = regexp.MustCompile(`\bidworker_\w+`)

// described returns the names of all metrics, and of their labels.
func described(t *testing.T) (names, labels map[string]bool) {
	t.Helper()
	w := fixed(t, 1)
	ch := make(chan *prometheus.Desc, 100)
	metrics.NewCollector(w).Describe(ch)
	metrics.NewPoolCollector(w).Describe(ch)
	metrics.NewSegmentCollector(new(idworker.Numbers)).Describe(ch)
	close(ch)
	names, labels = map[string]bool{}, map[string]bool{}
	for d := range ch {
		m := regexp.MustCompile(`fqName: "(\w+)".*(constLabels: .*)`).FindStringSubmatch(d.String())
		names[m[1]] = true
		for _, l := range metricName.FindAllString(m[2], -1) {
			labels[l] = true
		}
	}
	require.Greater(t, len(names), 10)
	require.Len(t, labels, 7)
	return names, labels
}

// promtool accepts the rules and their tests. Each alert fires in a test and stays quiet in
// another, and leads to the section of operations.md that has its name.
func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, nil, "check", "rules", "--lint-fatal", filepath.Join(dashboards, "alerts.yml"))
	promtool(t, nil, "test", "rules", filepath.Join(dashboards, "alerts_test.yml"))
	known, labels := described(t)
	tests := read(t, "alerts_test.yml")
	for _, name := range metricName.FindAllString(read(t, "alerts.yml")+tests, -1) {
		require.True(t, known[name] || labels[name], "%s is no metric or label", name)
	}
	all, sections := map[string]bool{}, map[string]bool{}
	for _, r := range rules(t) {
		all[r.Alert] = true
		require.Regexp(t, `alertname: `+r.Alert+`\n +exp_alerts:\n`, tests, "no test lets it fire")
		require.Regexp(t, `alertname: `+r.Alert+`, exp_alerts: \[\]`, tests, "no test keeps it quiet")
		require.Equal(t, "https://github.com/snowlease/snowlease/blob/main/docs/operations.md#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
	}
	for _, m := range regexp.MustCompile(`(?m)^#+ (IdWorker\w+)$`).FindAllStringSubmatch(read(t, "../../docs/operations.md"), -1) {
		sections[m[1]] = true
	}
	require.Equal(t, all, sections)
}

// read returns the text of a file beside the dashboards.
func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dashboards, name))
	require.NoError(t, err)
	return string(text)
}

type panel struct {
	ID      int
	Title   string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr string }
	Links   []struct{ URL string }
}

// panels returns the panels of the dashboard, with values for the variables in the queries,
// and its text.
func panels(t *testing.T) ([]panel, string) {
	t.Helper()
	text := read(t, "idworker.json")
	var board struct{ Panels []panel }
	require.NoError(t, json.Unmarshal([]byte(text), &board))
	for _, p := range board.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for i := range p.Targets {
			expr := &p.Targets[i].Expr
			*expr = strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$job", ".*", "$namespace", ".*").Replace(*expr)
			require.NotContains(t, *expr, "$", "an unknown variable")
		}
	}
	return board.Panels, text
}

// The panels of the dashboard do not overlap, together they show every metric, and their
// links lead to alerts' sections.
func TestDashboard(t *testing.T) {
	t.Parallel()
	all, text := panels(t)
	known, labels := described(t)
	for _, name := range metricName.FindAllString(text, -1) {
		require.True(t, known[name] || labels[name], "%s is no metric or label", name)
	}
	sections := map[string]bool{}
	for _, r := range rules(t) {
		sections[r.Annotations["runbook_url"]] = true
	}
	linked, shown := map[string]bool{}, map[string]bool{}
	taken, ids := map[[2]int]string{}, map[int]bool{}
	for _, p := range all {
		require.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies over another", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				shown[name] = shown[name] || known[name]
			}
		}
		for _, l := range p.Links {
			linked[l.URL] = true
		}
	}
	maps.DeleteFunc(shown, func(_ string, isMetric bool) bool { return !isMetric })
	require.Equal(t, known, shown)
	require.Equal(t, sections, linked)
}

// While a process goes through all its states, the dashboard shows what will happen. Every
// query of every panel yields something, on the collectors' series and on the exporter's.
func TestDashboardShowsStates(t *testing.T) {
	t.Parallel()
	all, text := panels(t)
	var table panel
	for _, p := range all {
		if p.Title == "What will happen" {
			table = p
		}
	}
	require.Len(t, table.Targets, 5)
	shows := func(state string) float64 {
		m := regexp.MustCompile(`"(\d)": \{\s+"text": "` + state + `"`).FindStringSubmatch(text)
		require.NotNil(t, m, state)
		return float64(m[1][0] - '0')
	}
	const interval = 5 * time.Second
	tests := ""
	for _, phase := range []int{1, 2} {
		var (
			claims []claim
			began  time.Duration
		)
		s := play(t, interval, phase, func(s *scene) {
			see := func(state string) {
				claims = append(claims, claim{"sum(" + table.Targets[0].Expr + ")", s.end(), shows(state)})
			}
			s.unopened = true
			w := s.process(idworker.Config{Namespace: "orders"})
			s.run(interval)
			see("issues ids, ahead of the clock")
			s.run(time.Minute)
			see("issues ids")
			s.down()
			began = time.Duration(s.scrapes) * interval
			s.run(20 * time.Second)
			see("ids will stop")
			for _, p := range all {
				for _, target := range p.Targets {
					claims = append(claims, claim{"count(" + target.Expr + ") > bool 0", s.end(), 1})
				}
			}
			stop, since := "sum("+table.Targets[1].Expr+")", "sum("+table.Targets[2].Expr+") / 1000"
			claims = append(claims, claim{stop + " > bool 0 and " + stop + " < bool 15", s.end(), 1},
				claim{fmt.Sprintf("%s >= bool %v and %s <= bool %v", since, began.Seconds(), since, began.Seconds()+10), s.end(), 1})
			s.run(20 * time.Second)
			see("no ids")
			ctx, cancel := context.WithTimeout(s.Context(), time.Second)
			defer cancel()
			require.Error(s, w.Reset(ctx))
			s.run(interval)
			see("waits for a worker id")
			s.up()
			s.run(20 * time.Second)
			see("issues ids")
			require.NoError(s, w.Close())
			s.run(interval)
			see("stopped")
		})
		names, _ := described(t)
		for name := range names { // of segments, and of mode redis-sequence
			if strings.Contains(name, "_segment_") || strings.Contains(name, "_sequence_") {
				s.series[name+`{instance="0",job="shop",idworker_namespace="orders",idworker_segment_name="invoices",idworker_segment_store="redis"}`] = strings.Fields(strings.Repeat("1 ", s.scrapes))
			}
		}
		tests += s.test(claims...)
	}
	checkTests(t, interval, tests)
}
