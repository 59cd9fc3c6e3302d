package console

import (
	"bytes"
	"context"
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

// A Worker is what the console shows. *idworker.IdWorker is one.
type Worker interface {
	Status() idworker.Status
	Healthy(ctx context.Context) error
	Layout() snowflake.Layout
}

// An Option configures New.
type Option func(*console)

// WithSlots sets the lister of the namespace's worker ids, such as a center of dbseq,
// redisseq or hostseq. The console asks it at most once in 3 s, for all readers together,
// and waits 2 s for the answer. Default: the worker, if it is a lease.Lister, as
// *idworker.IdWorker is. With nil, the console shows no worker ids.
func WithSlots(lister lease.Lister) Option {
	return func(c *console) { c.slots.lister = lister }
}

// New returns the console of w, which must not be nil. The console is safe for concurrent
// use and starts no goroutine. Mount it at any path that ends with a slash, with or
// without http.StripPrefix.
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

// ServeHTTP serves the console. It routes by the end of the path, since it does not know
// its prefix.
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
		fail(w, http.StatusMethodNotAllowed, "the console is read-only; use GET")
		return
	}
	if rebound(r) {
		fail(w, http.StatusMisdirectedRequest, "the Host header names another host than this one; use localhost or an address, and have a proxy send one of these as Host")
		return
	}
	dir, file := path.Split(r.URL.Path)
	switch path.Base(dir) + "/" + file {
	case "api/status":
		reply(w, http.StatusOK, c.status(r.Context()))
	case "api/slots":
		c.serveSlots(w, r)
	case "api/decode":
		c.serveDecode(w, r)
	case "parts/lease":
		c.render(w, "lease", c.status(r.Context()))
	case "parts/slots":
		c.render(w, "slots", c.pool(r.Context()))
	case "parts/decode":
		c.render(w, "decode", c.decoder(r))
	default:
		c.serveFile(w, r, dir, file)
	}
}

// rebound reports whether a request to a loopback address names another host. In a DNS
// rebinding attack, a web page whose name resolves to that address makes the reader's
// browser send such a request, and reads the answer.
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
	case dir == "" && file == "": // http.StripPrefix removed the whole path, but relative links need a slash
		w.Header().Set("Location", "./"+path.Base(strings.SplitN(r.RequestURI, "?", 2)[0])+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	case file == "":
		c.render(w, "page", struct {
			Status status
			Pool   *pool
			Decode decoder
		}{c.status(r.Context()), c.pool(r.Context()), c.decoder(r)})
	case file == "style.css" || file == "app.js" || file == "icon.svg":
		http.ServeFileFS(w, r, assets, "assets/"+file)
	default:
		fail(w, http.StatusNotFound, "there is no such page; the console has its page, api/status, api/slots and api/decode")
	}
}

// render sends the whole template, or only an error.
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

// now returns the time without its monotonic reading.
func now() time.Time { return time.Now().Round(0) }
