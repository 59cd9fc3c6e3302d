package metrics_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
)

const dashboards = "../deploy/dashboards"

var metricName = regexp.MustCompile(`\bidworker_\w+`)

// described returns the names of all metrics.
func described(t *testing.T) map[string]bool {
	t.Helper()
	w := fixed(t, 1)
	ch := make(chan *prometheus.Desc, 100)
	metrics.NewCollector(w).Describe(ch)
	metrics.NewPoolCollector(w, center(t, lease.DefaultSkew), 0).Describe(ch)
	metrics.NewSegmentCollector(new(idworker.Segments)).Describe(ch)
	close(ch)
	names := map[string]bool{}
	for d := range ch {
		names[regexp.MustCompile(`fqName: "(\w+)"`).FindStringSubmatch(d.String())[1]] = true
	}
	require.Greater(t, len(names), 10)
	return names
}

func TestAlerts(t *testing.T) {
	t.Parallel()
	promtool(t, nil, "check", "rules", "--lint-fatal", filepath.Join(dashboards, "alerts.yml"))
	promtool(t, nil, "test", "rules", filepath.Join(dashboards, "alerts_test.yml"))
	known := described(t)
	for _, file := range []string{"alerts.yml", "alerts_test.yml"} {
		text, err := os.ReadFile(filepath.Join(dashboards, file))
		require.NoError(t, err)
		for _, name := range metricName.FindAllString(string(text), -1) {
			require.True(t, known[name], "%s uses %s, which is no metric", file, name)
		}
	}
	text, err := os.ReadFile(filepath.Join(dashboards, "alerts.yml"))
	require.NoError(t, err)
	tests, err := os.ReadFile(filepath.Join(dashboards, "alerts_test.yml"))
	require.NoError(t, err)
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(text), -1) {
		require.Regexp(t, `alertname: `+alert[1]+`\n +exp_alerts:\n`, string(tests), "no test lets it fire")
		require.Regexp(t, `alertname: `+alert[1]+`, exp_alerts: \[\]`, string(tests), "no test keeps it quiet")
	}
}

// The panels of the dashboard do not overlap, their queries parse, and together they show
// every metric.
func TestDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(dashboards, "idworker.json"))
	require.NoError(t, err)
	var board struct {
		Panels []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal(text, &board))

	taken, ids := map[[2]int]string{}, map[int]bool{}
	shown := map[string]bool{}
	var rules strings.Builder
	rules.WriteString("groups: [{name: dashboard, rules: [\n")
	for _, p := range board.Panels {
		require.False(t, ids[p.ID], "two panels have the id %d", p.ID)
		ids[p.ID] = true
		require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				require.Empty(t, taken[[2]int{x, y}], "%s lies over another", p.Title)
				taken[[2]int{x, y}] = p.Title
			}
		}
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			for _, name := range metricName.FindAllString(target.Expr, -1) {
				shown[name] = true
			}
			expr := strings.NewReplacer("$__rate_interval", "5m", "$__range", "1h", "$job", ".*", "$namespace", ".*").Replace(target.Expr)
			require.NotContains(t, expr, "$", "an unknown variable")
			quoted, err := json.Marshal(expr)
			require.NoError(t, err)
			fmt.Fprintf(&rules, "{record: \"panel:%d\", expr: %s},\n", len(shown), quoted)
		}
	}
	rules.WriteString("]}]\n")
	require.Equal(t, described(t), shown)

	file := filepath.Join(t.TempDir(), "dashboard.yml")
	require.NoError(t, os.WriteFile(file, []byte(rules.String()), 0o600))
	promtool(t, nil, "check", "rules", file)
}
