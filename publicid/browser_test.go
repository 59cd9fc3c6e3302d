//go:build prove

package publicid_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// page decodes each vector and shows what it found. The image holds up the browser, which prints the
// page when it has loaded, until then.
const page = `<!doctype html><img src="found"><pre></pre><script type="module">
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
document.querySelector("pre").textContent = JSON.stringify(found);
await fetch("done");
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
	found, done := context.WithCancel(ctx)
	mux := http.NewServeMux()
	mux.Handle("/", http.FileServer(http.Dir(".")))
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) })
	mux.HandleFunc("GET /done", func(http.ResponseWriter, *http.Request) { done() })
	mux.HandleFunc("GET /found", func(http.ResponseWriter, *http.Request) { <-found.Done() })
	srv := httptest.NewServer(mux)
	defer srv.Close()

	cmd := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--dump-dom", srv.URL)
	cmd.WaitDelay = 10 * time.Second
	shown, err := cmd.Output()
	require.NoError(t, err)
	require.Contains(t, string(shown), fmt.Sprintf(`<pre>{"texts":%d,"refused":%d,"faults":[]}</pre>`, len(all.Texts), len(all.Refused)))
}
