package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"html"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/console"
)

var shots = flag.String("shots", "", "folder to keep the browser's screenshots in")

// browser returns a Chromium, as in Debian's packages chromium and
// chromium-headless-shell.
func browser(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chromium-headless-shell")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("no Chromium: install the package chromium-headless-shell")
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
// of the status issues some ids.
func serve(t *testing.T) (url string, id int64) {
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
	id, err := worker.NextID()
	require.NoError(t, err)

	var round atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/ops/idworker/probe.js", func(w http.ResponseWriter, r *http.Request) {
		http.ServeFile(w, r, "testdata/probe.js")
	})
	mux.HandleFunc("/ops/idworker/", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/api/status") {
			_ = worker.NextIDs(r.Context(), make([]int64, 900+350*(round.Add(1)%5)))
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
	return srv.URL + "/ops/idworker/", id
}

// noted decodes the notes of the probe from an attribute of the document.
func noted(t *testing.T, dom, attribute string, notes any) {
	t.Helper()
	found := regexp.MustCompile(attribute + `="([^"]*)"`).FindStringSubmatch(dom)
	require.NotNil(t, found, dom)
	require.NoError(t, json.Unmarshal([]byte(html.UnescapeString(found[1])), notes))
}

// TestBrowser opens the page in a real browser, narrow and wide, light and dark. The
// script runs under the page's policy, nothing sticks out, all text is readable, and all
// controls have names.
func TestBrowser(t *testing.T) {
	chromium := browser(t)
	page, id := serve(t)
	for _, tt := range []struct {
		name          string
		width, height int
		dark          bool
	}{
		{"400-light", 400, 2700, false},
		{"400-dark", 400, 2700, true},
		{"1400-light", 1400, 1600, false},
		{"1400-dark", 1400, 1600, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shot := filepath.Join(t.TempDir(), "shot.png")
			if *shots != "" {
				shot = filepath.Join(*shots, tt.name+".png")
			}
			dom, complaints := visit(t, chromium, fmt.Sprintf("%s?id=%d", page, id), tt.width, tt.height, tt.dark, "--screenshot="+shot)
			require.Empty(t, complaints)
			var probe struct {
				Wide, Texts int
				Dark        bool
				Problems    []string
			}
			noted(t, dom, "data-probe", &probe)
			require.Equal(t, tt.width, probe.Wide)
			require.Equal(t, tt.dark, probe.Dark)
			require.Greater(t, probe.Texts, 50)
			require.Empty(t, probe.Problems)

			require.Regexp(t, `<output id="rate">[0-9,]+</output>`, dom, "the rate is live")
			require.Regexp(t, `<polyline[^>]* points="[0-9., ]+ `, dom)
			require.Contains(t, dom, "issues ids: ready")
			require.Contains(t, dom, `<span class="mine" title="worker `)

			file, err := os.Open(shot)
			require.NoError(t, err)
			defer func() { _ = file.Close() }()
			picture, err := png.DecodeConfig(file)
			require.NoError(t, err)
			require.Equal(t, tt.width, picture.Width)
		})
	}
}

// People enter an invalid id, then a valid one, and pause the page.
func TestBrowserIsUsed(t *testing.T) {
	chromium := browser(t)
	page, _ := serve(t)
	dom, complaints := visit(t, chromium, page+"#drive", 800, 1000, false)
	require.Empty(t, complaints)
	type decoded struct {
		Invalid, Error, Search string
		Bits                   int
	}
	var notes struct {
		Bad, Good    decoded
		Paused, Live bool
	}
	noted(t, dom, "data-drive", &notes)
	require.Equal(t, "true", notes.Bad.Invalid)
	require.Contains(t, notes.Bad.Error, `"<b>abc" is not an id`)
	require.Equal(t, decoded{Invalid: "false", Search: "?id=1%2C000%2C000%2C000%2C000%2C000", Bits: 64}, notes.Good)
	require.True(t, notes.Paused)
	require.True(t, notes.Live)
}
