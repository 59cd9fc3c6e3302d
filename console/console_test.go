package console_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/snowflake"
)

func fixed(t testing.TB, l snowflake.Layout) *snowlease.Worker {
	t.Helper()
	w, err := snowlease.Fixed(7, snowlease.Config{Layout: l})
	require.NoError(t, err)
	return w
}

func TestStatusJSON(t *testing.T) {
	t.Parallel()
	w := open(t, center(t), "orders@host:1")
	require.NoError(t, w.NextIDs(t.Context(), make([]int64, 42)))
	got, st := statusOf(t, console.Of(w), ""), w.Status()
	require.True(t, got.Ready)
	require.Equal(t, snowlease.StateReady, got.State)
	require.EqualValues(t, 42, got.Issued)
	require.Equal(t, st.Worker, got.Worker)
	require.NotEmpty(t, got.Seen)
	require.WithinDuration(t, time.Now(), got.Now, time.Minute)
	require.WithinDuration(t, w.Layout().Ends(), got.Ends, 0)
}

// A web page whose name resolves to a loopback address reads nothing.
func TestRebinding(t *testing.T) {
	t.Parallel()
	for _, addr := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", addr)
		require.NoError(t, err)
		srv := &httptest.Server{Listener: l, Config: &http.Server{Handler: console.Of(fixed(t, snowflake.Layout{}))}}
		srv.Start()
		t.Cleanup(srv.Close)
		for host, code := range map[string]int{
			"": 200, "localhost": 200, "localhost:8080": 200, "LOCALHOST.": 200, "orders.localhost": 200, "127.0.0.1": 200, "[::1]:8080": 200, "10.0.0.7:8080": 200,
			"evil.example": 421, "evil.example:8080": 421, "127.0.0.1.evil.example": 421, "localhost.evil.example": 421, "notlocalhost": 421,
		} {
			for _, path := range []string{"/", "/api/status", "/api/segments", "/parts/live"} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, http.NoBody)
				require.NoError(t, err)
				req.Host = host
				resp, err := srv.Client().Do(req)
				require.NoError(t, err)
				body, err := io.ReadAll(resp.Body)
				require.NoError(t, errors.Join(err, resp.Body.Close()))
				require.Equal(t, code, resp.StatusCode, "%s %s", host, path)
				require.Equal(t, code == 421, strings.Contains(string(body), "use localhost"))
			}
		}
	}
	// On other addresses any host name is allowed.
	req := httptest.NewRequest(http.MethodGet, "http://ops.example/", http.NoBody)
	req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 7), Port: 80}))
	rec := httptest.NewRecorder()
	console.Of(fixed(t, snowflake.Layout{})).ServeHTTP(rec, req)
	require.Equal(t, http.StatusOK, rec.Code)
}

// Many readers cause few queries, and the page shows the error of a center that is away.
func TestSlotsAreAskedForSeldom(t *testing.T) {
	t.Parallel()
	c := center(t)
	w := open(t, c, "orders@host:1")
	calls := 0
	c.Intercept(func(_ context.Context, verb string, after bool) error {
		if verb == "slots" && !after {
			calls++
			return errors.New("the database is <b>away</b>")
		}
		return nil
	})
	h := console.Of(w)
	for range 10 {
		rec := get(t, h, "/api/slots")
		require.Equal(t, http.StatusBadGateway, rec.Code)
		require.NotContains(t, rec.Body.String(), "seen", "there is no list to show")
	}
	page := get(t, h, "/")
	require.Equal(t, http.StatusOK, page.Code, "the rest is there")
	require.Contains(t, page.Body.String(), "The store does not answer: ")
	require.Contains(t, page.Body.String(), "the database is &lt;b&gt;away&lt;/b&gt;")
	require.Equal(t, 1, calls)
}

// The console escapes all text from others.
func TestEscapes(t *testing.T) {
	t.Parallel()
	const bad = `"><script>alert(1)</script><img src=x onerror=alert(2)>'{{.}}`
	c := center(t)
	w := open(t, c, bad)
	c.Intercept(func(_ context.Context, verb string, _ bool) error {
		if verb == "renew" {
			return errors.New(bad)
		}
		return nil
	})
	require.Eventually(t, func() bool { return w.Status().Err != nil }, time.Minute, 10*time.Millisecond)
	h := console.Of(w)
	for _, target := range []string{"/", "/parts/slots", "/parts/live"} {
		page := get(t, h, target).Body.String()
		require.Contains(t, page, "alert(1)", target)
		require.NotRegexp(t, `<script>|<img|<[^>]*onerror=[^>]*>`, regexp.MustCompile(`"[^"]*"`).ReplaceAllString(page, `""`), target)
		require.NotContains(t, page, bad[:10], target)
	}
	for _, target := range []string{"/api/slots", "/api/status"} {
		rec := get(t, h, target)
		require.NotContains(t, rec.Body.String(), "<script>", "JSON must be harmless to a browser that takes it for HTML")
		require.Equal(t, "application/json", rec.Header().Get("Content-Type"))
	}
}

func TestHeadersAndMethods(t *testing.T) {
	t.Parallel()
	h := console.Of(fixed(t, snowflake.Layout{}))
	for _, target := range []string{"/", "/style.css", "/app.js", "/icon.svg", "/api/status", "/parts/live", "/nothing"} {
		head := get(t, h, target).Header()
		policy := head.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"} {
			require.Contains(t, policy, want, target)
		}
		require.NotContains(t, policy, "unsafe", target)
		for name, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store",
		} {
			require.Equal(t, want, head.Get(name), target)
		}
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, "BREW"} {
			rec := do(t, h, method, target)
			require.Equal(t, http.StatusMethodNotAllowed, rec.Code, method)
			require.Equal(t, "GET, HEAD", rec.Header().Get("Allow"))
		}
	}
	for target, want := range map[string]string{
		"/": "text/html; charset=utf-8", "/parts/slots": "text/html; charset=utf-8", "/style.css": "text/css; charset=utf-8",
		"/app.js": "text/javascript; charset=utf-8", "/icon.svg": "image/svg+xml", "/nothing": "application/json",
	} {
		require.Equal(t, want, get(t, h, target).Header().Get("Content-Type"), target)
	}
	require.Equal(t, http.StatusNotFound, get(t, h, "/nothing").Code)
	require.Equal(t, http.StatusNotFound, get(t, h, "/assets/page.html").Code)
	require.Equal(t, http.StatusNotFound, get(t, h, "/api/status/x").Code)
}

// With any prefix, with or without http.StripPrefix, every link of the page leads to a
// page of the console.
func TestPrefixes(t *testing.T) {
	t.Parallel()
	console := console.Of(fixed(t, snowflake.Layout{}))
	mux := http.NewServeMux()
	mux.Handle("/idworker/", console)
	mux.Handle("/deep/down/idworker/", http.StripPrefix("/deep/down/idworker", console))
	mux.Handle("/stripped/", http.StripPrefix("/stripped/", console))
	mux.Handle("/bare", http.StripPrefix("/bare", console))
	mux.Handle("/bare/", http.StripPrefix("/bare", console))
	mux.Handle("/{$}", console)
	mux.Handle("/api/", console)
	for _, name := range []string{"/style.css", "/app.js", "/icon.svg"} {
		mux.Handle(name, console)
	}
	srv := httptest.NewServer(mux)
	defer srv.Close()
	fetch := func(u string) (at *url.URL, status int, page string) {
		resp, err := srv.Client().Get(u)
		require.NoError(t, err)
		defer func() { _ = resp.Body.Close() }()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.Request.URL, resp.StatusCode, string(body)
	}
	links := regexp.MustCompile(`(?:href|src|action)="([^"#]+)"`)
	for _, entry := range []string{"/", "/idworker", "/idworker/", "/deep/down/idworker", "/deep/down/idworker/", "/bare", "/bare/", "/bare?worker=1"} {
		base, status, page := fetch(srv.URL + entry)
		require.Equal(t, http.StatusOK, status, entry)
		require.True(t, strings.HasSuffix(base.Path, "/"), entry)
		require.Contains(t, page, "<!doctype html>", entry)
		found := links.FindAllStringSubmatch(page, -1)
		require.GreaterOrEqual(t, len(found), 5)
		for _, link := range found {
			ref, err := url.Parse(link[1])
			require.NoError(t, err)
			require.False(t, ref.IsAbs() || ref.Host != "" || strings.HasPrefix(ref.Path, "/"), "%s: %s is not relative", entry, link[1])
			_, status, body := fetch(base.ResolveReference(ref).String())
			require.Equal(t, map[bool]int{false: http.StatusOK, true: http.StatusNotImplemented}[ref.Path == "api/slots"], status, "%s: %s: %s", entry, link[1], body)
		}
	}
}

// A redirect stays on the host, whatever the request's path is.
func TestRedirectStaysHere(t *testing.T) {
	t.Parallel()
	h := http.StripPrefix("//elsewhere.example", console.Of(fixed(t, snowflake.Layout{})))
	req := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	req.URL.Path, req.RequestURI = "//elsewhere.example", "//elsewhere.example"
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	require.Equal(t, http.StatusMovedPermanently, rec.Code)
	require.Equal(t, "./elsewhere.example/", rec.Header().Get("Location"))
}
