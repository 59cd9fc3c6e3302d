package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/snowflake"
)

// namespaced returns a worker of a namespace that issues ids, or whose lease has expired.
func namespaced(namespace string, expired bool) shown {
	st := snowlease.Status{State: snowlease.StateReady, Namespace: namespace, Center: "memory", Worker: 3, Now: time.Now(), Ceiling: time.Now().Add(time.Hour)}
	if expired {
		st.State, st.Error, st.Ceiling = snowlease.StateExpired, "connection refused", time.Now().Add(-time.Hour)
	}
	st.Holder = "orders@pod-7:8081" // as in deploy/systemd, with a port
	return still(st)
}

// One page shows all workers of a process, those in need first. Requests name one by its
// number or its namespace.
func TestSeveralWorkers(t *testing.T) {
	t.Parallel()
	h := console.Of(namespaced("orders", false), listed{namespaced("billing", true), pool(8, 3)}, fixed(t, snowflake.JSSafe()))

	var all []struct {
		N                int
		Namespace, State string
		Error            string
		Outlook          outlook
	}
	decode(t, get(t, h, "/api/workers"), &all)
	require.Len(t, all, 3)
	require.Equal(t, []any{2, "billing", "expired", "red"}, []any{all[1].N, all[1].Namespace, all[1].State, all[1].Outlook.Level})
	require.Equal(t, "connection refused", all[1].Error)

	for query, want := range map[string]string{"": "orders", "?worker=1": "orders", "?worker=2": "billing", "?worker=billing": "billing", "?worker=3": "local"} {
		require.Equal(t, want, statusOf(t, h, query).Namespace, query)
		page := get(t, h, "/"+query).Body.String()
		require.Contains(t, page, "<h1>"+want+" <small>")
		require.Regexp(t, `(?s)<nav class="workers".*worker=2"[^>]*><strong>No ids</strong> billing.*worker=1"[^>]*><strong>OK</strong> orders.*worker=3"`, page, "the red one first")
		require.Equal(t, 1, strings.Count(page, `aria-current="page"`))
		title := "No ids in billing: " + want
		if want == "billing" {
			title = "No ids: billing"
		}
		require.Contains(t, page, "<title>"+title+" · idworker</title>", "the worst level, and the page's worker")
		require.Contains(t, page, `href="icon.svg?level=red"`)
	}
	require.Equal(t, http.StatusOK, get(t, h, "/api/slots?worker=billing").Code)
	require.Equal(t, http.StatusNotImplemented, get(t, h, "/api/slots?worker=orders").Code)

	// All links keep the worker.
	page := get(t, h, "/?worker=3").Body.String()
	for _, want := range []string{`data-query="?worker=3"`, `api/status?worker=3"`, `api/slots?worker=3"`} {
		require.Contains(t, page, want)
	}

	for _, target := range []string{"/?worker=0", "/api/status?worker=4", "/api/slots?worker=nobody", "/parts/live?worker=-1", "/api/workers?worker=x", "/?worker=%3Cscript%3E"} {
		rec := get(t, h, target)
		require.Equal(t, http.StatusNotFound, rec.Code, target)
		require.Contains(t, rec.Body.String(), "api/workers lists all", target)
	}
}

// With one worker nothing on the page speaks of several.
func TestOneWorker(t *testing.T) {
	t.Parallel()
	h := console.Of(namespaced("orders", false))
	page := get(t, h, "/").Body.String()
	require.NotRegexp(t, `<nav|worker=`, page)
	require.Contains(t, page, "worker ids are not listed here")
	require.Equal(t, http.StatusOK, get(t, h, "/?worker=orders").Code)
	require.Equal(t, http.StatusNotFound, get(t, h, "/?worker=billing").Code)
}

// Without a worker the console says so, and a nil one beside another is left out.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	for name, h := range map[string]http.Handler{
		"none": console.New(console.Config{}), "nil": console.New(console.Config{Workers: []*snowlease.Worker{nil}}),
	} {
		for _, target := range []string{"/", "/api/status", "/api/workers", "/api/slots", "/parts/live", "/parts/slots", "/?worker=1"} {
			rec := get(t, h, target)
			require.Equal(t, http.StatusNotFound, rec.Code, target)
			require.Contains(t, rec.Body.String(), "console.Config.Workers has no worker", name)
		}
	}
	h := console.New(console.Config{Workers: []*snowlease.Worker{nil, fixed(t, snowflake.Layout{})}})
	require.Contains(t, get(t, h, "/?worker=1").Body.String(), "<h1>local <small>")
}

// The page names the process itself, whatever its name in the center looks like.
func TestProcess(t *testing.T) {
	t.Parallel()
	p := statusOf(t, console.Of(namespaced("orders", false)), "").Process
	host, err := os.Hostname()
	require.NoError(t, err)
	require.Equal(t, []any{filepath.Base(os.Args[0]), host, os.Getpid()}, []any{p.Program, p.Host, p.PID})
	require.WithinDuration(t, time.Now(), p.Started, 10*time.Minute)
}
