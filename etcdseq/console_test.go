package etcdseq_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

// The console speaks of etcd, and of no other store.
func TestConsole(t *testing.T) {
	t.Parallel()
	e := testserver.NewEtcd(t, 3)
	cfg := idworker.Config{
		Namespace: "orders", Lease: idworker.LeaseConfig{TTL: 2 * time.Second}, Store: idworker.StoreConfig{Skew: 200 * time.Millisecond},
	}
	req, err := cfg.Request()
	require.NoError(t, err)
	center := open(t, e.URLs()...)
	require.NoError(t, center.Extras().Init(t.Context(), req))
	worker, err := idworker.Open(t.Context(), cfg, idworker.WithCenter(center))
	require.NoError(t, err)
	t.Cleanup(func() {
		e.Nodes[0].Kill() // without a quorum, it would let the release wait
		_ = worker.Stop(context.Background())
	})
	page := console.New(worker)
	get := func(path string) string {
		rec := httptest.NewRecorder()
		page.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://localhost"+path, nil))
		return rec.Body.String()
	}
	other := regexp.MustCompile(`(?i)redis|database|primary|\bSQL\b`)
	type status struct {
		Outlook struct{ Level, Kind, Text, Do, Link string }
	}
	look := func() (s status) {
		require.NoError(t, json.Unmarshal([]byte(get("/api/status")), &s))
		require.NotRegexp(t, other, get("/"))
		return s
	}
	require.Eventually(t, func() bool { return look().Outlook.Kind == "ok" }, 20*time.Second, 20*time.Millisecond)
	text := get("/")
	require.Contains(t, text, "etcd at 127.0.0.1:")
	require.Contains(t, get("/api/slots"), `"holder"`)

	e.Nodes[1].Kill()
	e.Nodes[2].Kill()
	require.Eventually(t, func() bool { return look().Outlook.Kind == "stopped" }, 30*time.Second, 20*time.Millisecond)
	o := look().Outlook
	require.Equal(t, "red", o.Level)
	require.Regexp(t, `^no ids since .*: the lease has expired; renewals have failed since `, o.Text)
	require.Regexp(t, `^Bring etcd at 127\.0\.0\.1:.* back, or the way to it\. Ids resume by themselves, without a restart\.$`, o.Do)
	require.Equal(t, "https://github.com/snowlease/snowlease/blob/main/docs/on-call.md#no-ids", o.Link)
	require.Regexp(t, `Last error:</strong> .*etcd`, get("/"))
}
