package metrics_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/metrics"
)

// A moment is what a process does, and what it says of itself, at one time.
type moment struct {
	at      time.Time
	issuing bool
	worker  int64
	metrics map[string]float64
	page    struct {
		Outlook struct {
			Level, Kind, Text string
			Since, Until      time.Time
		}
		Worker       int64
		State, Error string
		Ready        bool
		FailingSince time.Time `json:"failing_since"`
		Ceiling, Now time.Time
	}
}

// The center is away for two minutes. The log, the metrics and the console tell what
// happened, with the same times.
func TestTheStoryOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 23, 8, 17, 0, time.UTC)))
		store := center(t, lease.DefaultSkew, "orders")
		var log logtest.Journal
		w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders"}, idworker.Clients{Center: store, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, err)
		defer func() { require.NoError(t, w.Close()) }()
		page, collector := console.New(console.Config{Workers: []*snowlease.Worker{w}}), metrics.NewCollector(w)
		first := w.Status().Worker

		// What happens.
		var failed, stopped, resumed time.Time
		var moments []moment
		for began := time.Now(); time.Since(began) < 4*time.Minute; time.Sleep(100 * time.Millisecond) {
			switch time.Since(began) {
			case 23 * time.Second:
				store.Intercept(func(context.Context, string, bool) error {
					if failed.IsZero() {
						failed = time.Now()
					}
					return errors.New("connection refused")
				})
			case 143 * time.Second:
				store.Intercept(nil)
			}
			synctest.Wait()
			m := moment{at: time.Now(), worker: -1, metrics: gather(t, collector)}
			id, err := w.NextID()
			if m.issuing = err == nil; m.issuing {
				p, err := w.Layout().Decode(id)
				require.NoError(t, err)
				m.worker = p.Worker
			} else {
				require.ErrorIs(t, err, snowlease.ErrLeaseExpired)
			}
			switch {
			case !m.issuing && stopped.IsZero():
				stopped = m.at
			case m.issuing && !stopped.IsZero() && resumed.IsZero():
				resumed = m.at
			}
			rec := httptest.NewRecorder()
			page.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/status", nil))
			require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &m.page))
			moments = append(moments, m)
		}
		second := w.Status().Worker
		require.NotEqual(t, first, second)
		require.InDelta(t, 20, stopped.Sub(failed).Seconds(), 3, "a lease of 30 s, renewed after a third")
		require.InDelta(t, 2, resumed.Sub(time.Date(2026, 11, 20, 23, 10, 40, 0, time.UTC)).Seconds(), 2)

		// What the metrics and the console say of it, up to the 100 ms between two moments.
		const exact = 0.2
		clock := func(at time.Time) string { return at.UTC().Format("15:04:05 UTC") }
		for _, m := range moments {
			what, o := m.at.Format("15:04:05.0"), m.page.Outlook
			left := m.metrics["idworker_ids_stop_in_seconds"]
			failing := !m.at.Before(failed) && m.at.Before(resumed)
			require.Equal(t, m.issuing, m.metrics["idworker_issuing"] == 1, what)
			require.Equal(t, m.issuing, m.page.Ready, what)
			require.InDelta(t, left, m.page.Ceiling.Sub(m.page.Now).Seconds(), exact, what)
			if m.issuing {
				require.Equal(t, m.worker, m.page.Worker, what)
				require.InDelta(t, m.worker, m.metrics["idworker_worker_id"], 0, what)
			}
			switch {
			case !failing:
				require.Zero(t, m.metrics["idworker_failing_seconds"], what)
				require.Zero(t, m.page.FailingSince, what)
				require.Equal(t, []string{"green", "issues ids; the lease is renewed"}, []string{o.Level, o.Text}, what)
				continue
			case m.issuing:
				require.Equal(t, "amber", o.Level, what)
				require.WithinDuration(t, stopped, o.Until, 200*time.Millisecond, what)
				require.Regexp(t, `^ids stop in \d+(\.\d)? s: renewals have failed since `+clock(failed), o.Text, what)
			default:
				require.Equal(t, "red", o.Level, what)
				require.WithinDuration(t, stopped, o.Since, 200*time.Millisecond, what)
				require.Regexp(t, `^no ids since `+clock(o.Since)+` \(.*\): the lease has expired; renewals have failed since `+clock(failed)+`$`, o.Text, what)
			}
			require.InDelta(t, stopped.Sub(m.at).Seconds(), left, exact, what)
			require.InDelta(t, m.at.Sub(failed).Seconds(), m.metrics["idworker_failing_seconds"], exact, what)
			require.True(t, failed.Equal(m.page.FailingSince), what)
			require.Equal(t, "memcenter: renew: connection refused", m.page.Error, what)
		}

		// What the log says of it.
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		for i, want := range []string{
			`INFO msg="worker id borrowed" worker=0 `,
			`INFO msg="idworker started" worker=0 `,
			`WARN msg="lease not renewed; retrying" namespace=orders center=memory worker=0 ids_stop_at=\S+ failing_since=\S+ err="memcenter: renew: connection refused"$`,
			`ERROR msg="ids stopped: the lease has expired" worker=0 .* failing_since=\S+ err=`,
			`ERROR msg="still no ids: the lease has expired" worker=0 .* failing_since=\S+ err=`,
			`ERROR msg="still no ids: the lease has expired" worker=0 .* failing_since=\S+ err=`,
			`ERROR msg="still no ids: the lease has expired" worker=0 .* failing_since=\S+ err=`,
			`WARN msg="lease lost; borrowing another worker id" namespace=orders center=memory worker=0 token=\d+ err="lease: lost: it expired, or the store has no record of it for this process"$`,
			`INFO msg="worker id borrowed" worker=1 .* former_worker=0$`,
			`INFO msg="ids resumed" worker=1 .* after=\S+$`,
		} {
			require.Greater(t, len(lines), i)
			require.Regexp(t, `^time=\S+ level=`+want, lines[i])
		}
		require.Len(t, lines, 10, log.String())
		value := func(line int, key string) string {
			return regexp.MustCompile(`(?:^| )` + key + `=(\S+)`).FindStringSubmatch(lines[line])[1]
		}
		for _, told := range []struct {
			line int
			key  string
			at   time.Time
		}{
			{2, "time", failed},
			{2, "failing_since", failed},
			{2, "ids_stop_at", stopped},
			{3, "time", stopped},
			{3, "failing_since", failed},
			{9, "time", resumed},
		} {
			var at time.Time
			require.NoError(t, at.UnmarshalText([]byte(value(told.line, told.key))))
			require.WithinDuration(t, told.at, at, 200*time.Millisecond, "%s of %s", told.key, lines[told.line])
		}
		after, err := time.ParseDuration(value(9, "after"))
		require.NoError(t, err)
		require.InDelta(t, resumed.Sub(stopped).Seconds(), after.Seconds(), exact)

		// The page for those who are on call has three of these lines.
		doc, err := os.ReadFile(filepath.Join("..", "docs", "on-call.md"))
		require.NoError(t, err)
		shown := regexp.MustCompile("(?s)```text\n(time=.*?)\n```").FindSubmatch(doc)
		require.NotNil(t, shown)
		require.Equal(t, unstamped(strings.Join([]string{lines[2], lines[3], lines[9]}, "\n")), unstamped(string(shown[1])), "this is the log of an outage:\n%s", log.String())
	})
}

// unstamped returns a log without what differs between two runs.
func unstamped(log string) string {
	log = regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`).ReplaceAllString(log, "T")
	return regexp.MustCompile(`(token|after)=\S+`).ReplaceAllString(log, "$1=N")
}
