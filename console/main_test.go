package console_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// request returns a request for a worker id of namespace orders.
func request(holder string) lease.Request {
	req := memcenter.NewRequest("orders", snowflake.Layout{})
	req.Owner, req.Holder = lease.NewOwner(), holder
	return req
}

// center returns a center with namespace orders initialized, so without a quarantine.
func center(t testing.TB) *memcenter.Center {
	t.Helper()
	c := memcenter.New()
	require.NoError(t, c.Init(t.Context(), request("")))
	return c
}

func open(t testing.TB, c lease.Center, holder string) *snowlease.Worker {
	t.Helper()
	w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Holder: holder, Lease: idworker.LeaseConfig{Renew: "@every 1s"}}, idworker.Clients{Center: c})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func get(t testing.TB, h http.Handler, target string) *httptest.ResponseRecorder {
	t.Helper()
	return do(t, h, http.MethodGet, target)
}

func do(t testing.TB, h http.Handler, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), method, target, nil))
	return rec
}

// answer is what tests read of api/status.
type answer struct {
	snowlease.Status
	Ready   bool
	Ends    time.Time
	Seen    []time.Time `json:"renewals_seen"`
	Outlook outlook
	Process struct {
		Program, Host string
		PID           int
		Started       time.Time
	}
	Rate struct {
		Now, Peak float64
		PeakAt    time.Time `json:"peak_at"`
		From      time.Time
		History   []float64
	}
}

func statusOf(t testing.TB, h http.Handler, query string) (st answer) {
	t.Helper()
	decode(t, get(t, h, "/api/status"+query), &st)
	return st
}

func decode(t testing.TB, rec *httptest.ResponseRecorder, into any) {
	t.Helper()
	require.Equal(t, "application/json", rec.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(rec.Body.Bytes(), into))
}
