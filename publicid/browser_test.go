//go:build prove

package publicid_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// page decodes each vector and reports what it found. The image holds up the browser, which
// leaves when the page has loaded, until the report is there.
const page = `<!doctype html><img src="reported"><script type="module">
import { decode } from "./decode.mjs";
const vectors = await (await fetch("testdata/vectors.json")).json();
const found = { texts: 0, refused: 0, faults: [] };
for (const v of vectors.texts) {
  try {
    const id = await decode(v.prefix, v.text, ...(v.secrets ?? []));
    if (id === BigInt(v.id)) found.texts++; else found.faults.push(v.text + " is read as " + id);
  } catch (e) { found.faults.push(v.text + ": " + e); }
}
for (const v of vectors.refused) {
  try {
    found.faults.push(v.text + " (" + v.why + ") is read as " + await decode(v.prefix, v.text, ...(v.secrets ?? [])));
  } catch (e) {
    if (e instanceof RangeError) found.refused++; else found.faults.push(v.text + ": " + e);
  }
}
await fetch("report", { method: "POST", body: JSON.stringify(found) });
</script>`

// The decoder in JavaScript agrees with the vectors in Chromium.
func TestJavaScript(t *testing.T) {
	t.Parallel()
	chromium, err := exec.LookPath("chromium-headless-shell")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("no Chromium: make prove installs it and runs this test; or install the package chromium-headless-shell")
	}
	require.NoError(t, err, "install the package chromium-headless-shell")

	text, err := os.ReadFile("testdata/vectors.json")
	require.NoError(t, err)
	var all vectors
	require.NoError(t, json.Unmarshal(text, &all))

	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	report := make(chan []byte, 1)
	reported, done := context.WithCancel(ctx)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(".")))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	mux.HandleFunc("GET /decode.mjs", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		http.ServeFile(w, r, "decode.mjs")
	})
	mux.HandleFunc("POST /report", func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		report <- body
		done()
	})
	mux.HandleFunc("GET /reported", func(http.ResponseWriter, *http.Request) { <-reported.Done() })
	srv := httptest.NewServer(mux)
	defer srv.Close()

	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--enable-logging=stderr", "--dump-dom", srv.URL)
	cmd.WaitDelay = 10 * time.Second
	var errs bytes.Buffer
	cmd.Stderr = &errs
	require.NoError(t, cmd.Run(), errs.String())
	select {
	case body := <-report:
		var found struct {
			Texts, Refused int
			Faults         []string
		}
		require.NoError(t, json.Unmarshal(body, &found))
		require.Empty(t, found.Faults)
		require.Equal(t, len(all.Texts), found.Texts)
		require.Equal(t, len(all.Refused), found.Refused)
	default:
		require.Fail(t, "the page has reported nothing", errs.String())
	}
}
