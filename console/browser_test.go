//go:build prove

package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

var shots = flag.String("shots", "", "folder to keep the browser's pictures of the gallery in, from which those of the documentation are cut")

// browser returns a Chromium, as in Debian's packages chromium and
// chromium-headless-shell.
func browser(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("no Chromium: make prove installs it and runs this test; or install the package chromium-headless-shell")
	}
	require.NoError(t, err, "install the package chromium-headless-shell")
	return path
}

// visit opens a page and returns its document after some seconds of virtual time, and the
// browser's complaints.
func visit(t *testing.T, url string, width, height int, args ...string) (dom, complaints string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, browser(t), append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
		"--user-data-dir=" + t.TempDir(), fmt.Sprintf("--window-size=%d,%d", width, height),
		"--virtual-time-budget=9000", "--run-all-compositor-stages-before-draw", "--dump-dom",
	}, append(args, url)...)...)
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	return out.String(), strings.Join(regexp.MustCompile(`.*CONSOLE.*\n`).FindAllString(errs.String(), -1), "")
}

// probed serves a console with the probe in its page. It calls before for each request of
// the live parts; false means that the request has been answered.
func probed(t *testing.T, handler http.Handler, before func(w http.ResponseWriter) bool) (url string) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/ops/idworker/probe.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "testdata/probe.js")
	})
	mux.HandleFunc("/ops/idworker/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/parts/live") && !before(w) {
			return
		}
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(bytes.Replace(rec.Body.Bytes(), []byte("</head>"), []byte(`<script src="probe.js" defer></script></head>`), 1))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL + "/ops/idworker/"
}

// noted decodes the notes of the probe from an attribute of the document.
func noted(t *testing.T, dom, attribute string, notes any) {
	t.Helper()
	found := regexp.MustCompile(attribute + `="([^"]*)"`).FindStringSubmatch(dom)
	require.NotNil(t, found, dom)
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(found[1])), notes))
}

// In a real browser, the script runs under the page's policy and keeps the page up to date.
// People pause it, and what they open stays open.
func TestBrowser(t *testing.T) {
	c := center(t)
	worker := open(t, c, "orders@orders-7d9f8c6b5-x2kqz:1")
	for range 12 {
		open(t, c, "orders-batch@batch-node-7.eu-west-1.internal:4211")
	}
	handler := console.Of(worker)
	require.Eventually(t, func() bool { // the time line has something to show
		return strings.Count(get(t, handler, "/").Body.String(), `class="renewal"`) > 3
	}, time.Minute, 100*time.Millisecond)
	var round atomic.Int64
	page := probed(t, handler, func(http.ResponseWriter) bool {
		_ = worker.NextIDs(t.Context(), make([]int64, 900+350*(round.Add(1)%5)))
		return true
	})
	dom, complaints := visit(t, page+"#drive", 400, 3000)
	require.Empty(t, complaints)
	var found probe
	noted(t, dom, "data-probe", &found)
	found.requireFine(t, "live", 400, 50)
	require.Regexp(t, `<output id="rate-now">[1-9][0-9,]+</output>`, dom, "the rate is live")
	require.Contains(t, dom, "issues ids; the lease is renewed")
	require.Contains(t, dom, `<tr class="own">`)
	var used struct{ Paused, Live, Open bool }
	noted(t, dom, "data-drive", &used)
	require.True(t, used.Paused && used.Live && used.Open, "%+v", used)
}

// An open page follows the worker. It counts down each second, but announces only changes
// of the state, and says when the process does not answer.
func TestBrowserFollows(t *testing.T) {
	var round atomic.Int64
	began := time.Now()
	// Ready at first, then its renewals fail, then it has expired.
	handler := console.Of(shown(func() snowlease.Status {
		st := snowlease.Status{State: snowlease.StateReady, Namespace: "orders", Center: "memory", Worker: 1, Now: began, Ceiling: began.Add(time.Minute), Renewed: began}
		if n := round.Load(); n > 2 {
			st.Err, st.FailingSince, st.Ceiling = errAway, began.Add(-time.Minute), began.Add(time.Duration(6-n)*time.Second)
			if n > 5 {
				st.State = snowlease.StateExpired
			}
		}
		return st
	}))
	url := probed(t, handler, func(w http.ResponseWriter) bool {
		if round.Add(1) < 8 {
			return true
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	})
	dom, _ := visit(t, url, 800, 1000)
	var said []string
	noted(t, dom, "data-said", &said)
	require.Len(t, said, 3)
	require.Regexp(t, `^Warning ids stop in \d+.s: renewals have failed since `, said[0])
	require.Regexp(t, `^No ids no ids since .* the lease has expired; renewals have failed since `, said[1])
	require.Regexp(t, `^The process does not answer. This page shows it as of \d\d:\d\d:\d\d UTC.$`, said[2])
	require.Contains(t, dom, "<title>No answer: No ids: orders · idworker</title>")
	require.Contains(t, dom, `href="icon.svg?level=red"`)
	require.Regexp(t, `id="gone">The process does not answer`, dom)
}

// probe has the notes of testdata/probe.js.
type probe struct {
	Wide, Texts int
	Dark        bool
	Problems    []string
}

func (p probe) requireFine(t *testing.T, page string, width, texts int) {
	t.Helper()
	require.Equal(t, width, p.Wide, page)
	require.Greater(t, p.Texts, texts, page)
	require.Empty(t, p.Problems, page)
}

// snapshots returns the page of each scene as it is without JavaScript, and that of a
// process with several workers.
func snapshots(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	add := func(name string, h http.Handler, query string) {
		pages[name] = strings.Replace(get(t, h, "/"+query).Body.String(), `<script src="app.js" defer></script>`, `<script src="probe.js" defer></script>`, 1)
	}
	for _, s := range scenes {
		anight(t, s.cfg, func(n *night) {
			get(n, n.page, "/api/slots") // somebody has looked before
			s.play(n)
			add(s.name, n.page, "")
		})
	}
	gone := snowlease.Status{
		State: snowlease.StateExpired, Namespace: "billing-in-a-region-with-a-long-name", Center: "memory", Worker: 3,
		Now: time.Now(), Ceiling: time.Now().Add(-time.Hour), FailingSince: time.Now().Add(-time.Hour), Err: lease.ErrLost, Error: strings.Repeat("x", 300),
	}
	add("several", console.Of(fixed(t, snowflake.Layout{}), still(gone)), "?worker=2")
	away := numbers.Status{State: numbers.StateReady, Name: strings.Repeat("a-long-name-of-", 4), Remaining: 1200, Next: 1 << 60, Last: 1<<60 + 1199, FailingSince: time.Now(), Err: errAway, Error: strings.Repeat("x", 300)}
	dry := away
	dry.Name, dry.State, dry.Remaining = "invoices", numbers.StateWaiting, 0
	add("numbers", console.New(console.Config{Numbers: listOf{away, dry, {State: numbers.StateReady, Name: "members", Remaining: 40, Next: 1, Last: 40}, {State: numbers.StateClosed, Name: "tickets"}}, Workers: []*snowlease.Worker{fixed(t, snowflake.Layout{})}}), "")
	return pages
}

// On narrow and wide screens, light and dark, nothing of the page sticks out in any state,
// all text is readable, and all controls have names. One page is a gallery of all states.
func TestBrowserStates(t *testing.T) {
	pages := snapshots(t)
	names := slices.Sorted(maps.Keys(pages))
	mux := http.NewServeMux()
	mux.Handle("/", console.Of(fixed(t, snowflake.Layout{}))) // style.css, icon.svg
	for _, name := range []string{"probe.js", "gallery.js"} {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, "testdata/"+name) })
	}
	for name, page := range pages {
		mux.HandleFunc("/"+name, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	}
	mux.HandleFunc("/gallery", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `<!doctype html><meta name="color-scheme" content="light dark"><style>body { margin: 0; display: flex; } iframe { border: 0; flex: none; height: 100vh; }</style>`)
		for _, name := range names {
			_, _ = fmt.Fprintf(w, `<iframe name="%s" src="/%s" width="%s"></iframe>`, name, name, r.URL.Query().Get("width"))
		}
		_, _ = io.WriteString(w, `<script src="/gallery.js"></script>`)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	widths := []int{400, 1400}
	if *shots != "" {
		widths = append(widths, 720)
	}
	for _, width := range widths {
		for scheme, dark := range []bool{true, false} {
			args := []string{"--virtual-time-budget=4000", fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme)}
			if *shots != "" {
				args = append(args, "--screenshot="+filepath.Join(*shots, fmt.Sprintf("%d-%d.png", width, scheme)))
			}
			dom, complaints := visit(t, fmt.Sprintf("%s/gallery?width=%d", srv.URL, width), width*len(names), max(1700, 1_200_000/width), args...)
			require.Empty(t, complaints)
			var found map[string]probe
			noted(t, dom, "data-gallery", &found)
			require.Len(t, found, len(names))
			for name, p := range found {
				p.requireFine(t, name, width, 30)
				require.Equal(t, dark, p.Dark, name)
			}
		}
	}
}
