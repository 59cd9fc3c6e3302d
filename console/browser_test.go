//go:build prove

package console_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"image"
	"image/color"
	"image/draw"
	"image/png"
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
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/snowflake"
)

var (
	shots    = flag.String("shots", "", "folder to keep the browser's screenshots in")
	pictures = flag.String("pictures", "", "folder to write the pictures of the documentation to")
)

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
func visit(t *testing.T, chromium, url string, width, height int, dark bool, args ...string) (dom, complaints string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	scheme := 1
	if dark {
		scheme = 0
	}
	cmd := exec.CommandContext(ctx, chromium, append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-logging=stderr",
		"--user-data-dir=" + t.TempDir(), fmt.Sprintf("--window-size=%d,%d", width, height),
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), "--virtual-time-budget=9000", "--run-all-compositor-stages-before-draw", "--dump-dom",
	}, append(args, url)...)...)
	cmd.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	require.NoError(t, cmd.Run(), errs.String())
	for _, line := range strings.Split(errs.String(), "\n") {
		if strings.Contains(line, "CONSOLE") {
			complaints += line + "\n"
		}
	}
	return out.String(), complaints
}

// serve serves the console of a crowded namespace, with the probe in its page. Each request
// of the live parts issues some ids.
func serve(t *testing.T) (url string) {
	t.Helper()
	_, worker := crowd(t)
	handler := console.New(worker)
	require.Eventually(t, func() bool { // the time line has something to show
		var st struct {
			Seen []time.Time `json:"renewals_seen"`
		}
		require.NoError(t, json.Unmarshal(get(t, handler, "/api/status").Body.Bytes(), &st))
		return len(st.Seen) > 3
	}, time.Minute, 100*time.Millisecond)
	var round atomic.Int64
	return probed(t, handler, func(http.ResponseWriter) bool {
		_ = worker.NextIDs(t.Context(), make([]int64, 900+350*(round.Add(1)%5)))
		return true
	})
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

// TestBrowser opens the page in a real browser. The script runs under the page's policy
// and keeps the page up to date.
func TestBrowser(t *testing.T) {
	chromium := browser(t)
	page := serve(t)
	shot := filepath.Join(t.TempDir(), "shot.png")
	dom, complaints := visit(t, chromium, page, 400, 3000, true, "--screenshot="+kept(shot, "live-400-dark.png"))
	require.Empty(t, complaints)
	var found probe
	noted(t, dom, "data-probe", &found)
	require.Equal(t, 400, found.Wide)
	require.True(t, found.Dark)
	require.Greater(t, found.Texts, 50)
	require.Empty(t, found.Problems)
	require.Regexp(t, `<output id="rate-now">[1-9][0-9,]+</output>`, dom, "the rate is live")
	require.Contains(t, dom, "issues ids; the lease is renewed")
	require.Contains(t, dom, `<tr class="own">`)
}

// An open page follows the worker. It counts down each second, but announces only changes
// of the state, and says when the process does not answer.
func TestBrowserFollows(t *testing.T) {
	chromium := browser(t)
	var round atomic.Int64
	now := time.Now()
	handler := console.New(follows{round: &round, began: now})
	url := probed(t, handler, func(w http.ResponseWriter) bool {
		if round.Add(1) < 8 {
			return true
		}
		w.WriteHeader(http.StatusServiceUnavailable)
		return false
	})
	dom, _ := visit(t, chromium, url, 800, 1000, false)
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

// follows is ready at first, then its renewals fail, then it has expired.
type follows struct {
	shown
	round *atomic.Int64
	began time.Time
}

func (f follows) Status() snowlease.Status {
	st := snowlease.Status{State: snowlease.StateReady, Namespace: "orders", Center: "memory", Worker: 1, Now: f.began, Ceiling: f.began.Add(time.Minute), Renewed: f.began}
	if n := f.round.Load(); n > 2 {
		st.Err, st.FailingSince, st.Ceiling = errAway, f.began.Add(-time.Minute), f.began.Add(time.Duration(6-n)*time.Second)
		if n > 5 {
			st.State = snowlease.StateExpired
		}
	}
	return st
}

func (follows) Healthy(context.Context) error { return nil }

// probe has the notes of testdata/probe.js.
type probe struct {
	Wide, Texts int
	Dark        bool
	Problems    []string
}

// kept returns where to put a picture.
func kept(path, name string) string {
	if *shots != "" {
		return filepath.Join(*shots, name)
	}
	return path
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
		if s.name == "stopped" { // the same outage as failing
			continue
		}
		anight(t, s.cfg, func(n *night) {
			if s.name == "failing" {
				n.until("23:08:39")
				get(n, n.page, "/api/slots") // somebody has looked before
			}
			s.play(n)
			add(s.name, n.page, "")
			if s.name == "failing" {
				stopped(n)
				add("stopped", n.page, "")
			}
		})
	}
	gone := snowlease.Status{
		State: snowlease.StateExpired, Namespace: "billing-in-a-region-with-a-long-name", Center: "memory", Worker: 3,
		Now: time.Now(), Ceiling: time.Now().Add(-time.Hour), FailingSince: time.Now().Add(-time.Hour), Err: lease.ErrLost, Error: strings.Repeat("x", 300),
	}
	add("several", console.New(fixed(t, snowflake.Layout{}), shown{&gone}, nil), "?worker=2")
	away := segment.Status{State: segment.StateReady, Name: strings.Repeat("a-long-name-of-", 4), Remaining: 1200, Next: 1 << 60, Last: 1<<60 + 1199, FailingSince: time.Now(), Err: errAway, Error: strings.Repeat("x", 300)}
	dry := away
	dry.Name, dry.State, dry.Remaining = "invoices", segment.StateWaiting, 0
	add("numbers", console.NewWithSegments(listOf{away, dry, {State: segment.StateReady, Name: "members", Remaining: 40, Next: 1, Last: 40}, {State: segment.StateClosed, Name: "tickets"}}, fixed(t, snowflake.Layout{})), "")
	return pages
}

// exhibit serves the snapshots, and at /gallery a page with a frame for each.
func exhibit(t *testing.T) (url string, names []string) {
	t.Helper()
	pages := snapshots(t)
	names = slices.Sorted(maps.Keys(pages))
	mux := http.NewServeMux()
	mux.Handle("/", console.New(fixed(t, snowflake.Layout{}))) // style.css, icon.svg
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
	return srv.URL, names
}

// On narrow and wide screens, light and dark, nothing of the page sticks out in any state,
// all text is readable, and all controls have names. One page with a frame for each state
// has them all.
func TestBrowserStates(t *testing.T) {
	chromium := browser(t)
	url, names := exhibit(t)
	for _, tt := range []struct {
		width, height int
		dark          bool
	}{{400, 3000, false}, {400, 3000, true}, {1400, 1700, false}, {1400, 1700, true}} {
		name := fmt.Sprintf("%d-%s.png", tt.width, map[bool]string{false: "light", true: "dark"}[tt.dark])
		dom, complaints := visit(t, chromium, fmt.Sprintf("%s/gallery?width=%d", url, tt.width), tt.width*len(names), tt.height, tt.dark,
			"--virtual-time-budget=4000", "--screenshot="+kept(filepath.Join(t.TempDir(), name), name))
		require.Empty(t, complaints)
		var found map[string]probe
		noted(t, dom, "data-gallery", &found)
		require.Len(t, found, len(names))
		for _, name := range names {
			p := found[name]
			require.Equal(t, tt.width, p.Wide, name)
			require.Equal(t, tt.dark, p.Dark, name)
			require.Greater(t, p.Texts, 30, name)
			require.Empty(t, p.Problems, name)
		}
	}
}

// TestPictures writes the pictures of the documentation into the folder of -pictures, or else
// into one that it removes:
//
//	go test ./console -run TestPictures -pictures ../docs/pictures/console
func TestPictures(t *testing.T) {
	folder := cmp.Or(*pictures, t.TempDir())
	chromium := browser(t)
	url, _ := exhibit(t)
	require.NoError(t, os.MkdirAll(folder, 0o755))
	for _, s := range scenes {
		shot := filepath.Join(t.TempDir(), "shot.png")
		dom, _ := visit(t, chromium, url+"/"+s.name, 720, 1200, false, "--virtual-time-budget=4000", "--screenshot="+shot)
		var found struct{ LeaseEnds int }
		noted(t, dom, "data-lease", &found)
		require.Positive(t, found.LeaseEnds)
		require.NoError(t, crop(shot, filepath.Join(folder, s.name+".png"), found.LeaseEnds+12))
	}
}

// crop keeps the top of a picture, with as many colors as a palette has.
func crop(from, to string, height int) error {
	in, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	full, err := png.Decode(bytes.NewReader(in))
	if err != nil {
		return err
	}
	b := full.Bounds()
	b.Max.Y = min(b.Max.Y, height)
	count := map[color.Color]int{}
	for y := range b.Max.Y {
		for x := range b.Max.X {
			count[full.At(x, y)]++
		}
	}
	palette := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return count[b] - count[a] })
	out := image.NewPaletted(b, palette[:min(len(palette), 256)])
	draw.Draw(out, b, full, image.Point{}, draw.Src)
	var file bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&file, out); err != nil {
		return err
	}
	return os.WriteFile(to, file.Bytes(), 0o644)
}

// People pause the page.
func TestBrowserIsUsed(t *testing.T) {
	chromium := browser(t)
	page := serve(t)
	dom, complaints := visit(t, chromium, page+"#drive", 800, 1000, false)
	require.Empty(t, complaints)
	var notes struct {
		Paused, Live bool
		Open         bool // details that were opened stay so
	}
	noted(t, dom, "data-drive", &notes)
	require.True(t, notes.Paused)
	require.True(t, notes.Live)
	require.True(t, notes.Open)
}
