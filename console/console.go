package console

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"time"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

//go:embed assets
var assets embed.FS

// A Worker is what the console shows: *idworker.IdWorker is one.
type Worker interface {
	Status() idworker.Status
	Ready() bool
	Layout() snowflake.Layout
}

// Option sets a knob of New.
type Option func(*console)

// WithSlots shows the worker ids of the namespace as lister lists them; the centers of
// dbseq, redisseq and local are listers. It is asked once in 3 s at most, however many
// look, and has 2 s to answer. Default: the worker, if it is a lease.Lister, as
// *idworker.IdWorker is; nil leaves the map out.
func WithSlots(lister lease.Lister) Option {
	return func(c *console) { c.slots.lister = lister }
}

// New returns the console of w, which must not be nil. It is safe for concurrent use,
// starts no goroutine, and may be mounted at any path that ends with a slash, with
// http.StripPrefix or without.
func New(w Worker, opts ...Option) http.Handler {
	c := &console{worker: w}
	c.slots.lister, _ = w.(lease.Lister)
	for _, o := range opts {
		o(c)
	}
	c.pages = template.Must(template.New("").Funcs(template.FuncMap{
		"clock": clock, "stamp": stamp, "ago": ago, "thousands": thousands, "percent": percent,
	}).ParseFS(assets, "assets/*.html"))
	return c
}

type console struct {
	worker   Worker
	pages    *template.Template
	slots    slots
	renewals renewals
}

// ServeHTTP routes by the end of the path: the console knows no prefix.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		fail(w, http.StatusMethodNotAllowed, "the console is read-only: use GET")
		return
	}
	if rebound(r) {
		fail(w, http.StatusMisdirectedRequest, "the console is asked on this host by a name that is not this host's: use localhost or an address, and let a proxy send one of these as Host")
		return
	}
	dir, file := path.Split(r.URL.Path)
	switch path.Base(dir) + "/" + file {
	case "api/status":
		reply(w, http.StatusOK, c.status())
	case "api/slots":
		c.serveSlots(w, r)
	case "api/decode":
		c.serveDecode(w, r)
	case "parts/lease":
		c.render(w, "lease", c.status())
	case "parts/slots":
		c.render(w, "slots", c.pool(r.Context()))
	case "parts/decode":
		c.render(w, "decode", c.decoder(r))
	default:
		c.serveFile(w, r, dir, file)
	}
}

// rebound reports whether a request to a loopback address names another host. A web page
// whose name leads to that address would make the reader's browser send one, and read
// the answer: DNS rebinding.
func rebound(r *http.Request) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	if err != nil || !at.Addr().Unmap().IsLoopback() {
		return false
	}
	host := r.Host
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return false
	}
	_, err = netip.ParseAddr(strings.Trim(host, "[]"))
	return err != nil
}

// serveFile serves the page and its assets.
func (c *console) serveFile(w http.ResponseWriter, r *http.Request, dir, file string) {
	switch {
	case dir == "" && file == "": // http.StripPrefix took all: relative links need the slash
		w.Header().Set("Location", "./"+path.Base(strings.SplitN(r.RequestURI, "?", 2)[0])+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	case file == "":
		c.render(w, "page", struct {
			Status status
			Pool   *pool
			Decode decoder
		}{c.status(), c.pool(r.Context()), c.decoder(r)})
	case file == "style.css" || file == "app.js" || file == "icon.svg":
		http.ServeFileFS(w, r, assets, "assets/"+file)
	default:
		fail(w, http.StatusNotFound, "there is no such page: the console has its page, api/status, api/slots and api/decode")
	}
}

// render sends a template whole or not at all.
func (c *console) render(w http.ResponseWriter, name string, data any) {
	var b bytes.Buffer
	if err := c.pages.ExecuteTemplate(&b, name+".html", data); err != nil {
		fail(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // the client may be gone
}

func reply(w http.ResponseWriter, code int, body any) {
	b, err := json.MarshalIndent(body, "", "  ")
	if err != nil {
		code, b = http.StatusInternalServerError, []byte(`{"error": "the answer has no JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(append(b, '\n')) // the client may be gone
}

func fail(w http.ResponseWriter, code int, text string) {
	reply(w, code, struct {
		Error string `json:"error"`
	}{text})
}

// now is the time to show, without the monotonic part.
func now() time.Time { return time.Now().Round(0) }
