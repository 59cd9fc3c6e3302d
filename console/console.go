package console

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
	"weak"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

//go:embed assets
var assets embed.FS

// Config selects what a console shows.
type Config struct {
	// Workers are the workers of the process. The console ignores nil workers. Without any worker,
	// it responds with an error. It queries each worker for the worker ids of its namespace at most
	// once in 3 s, for all readers together, with a timeout of 2 s. In the meantime, the page shows
	// the last list, if there is one.
	Workers []*snowlease.Worker
	// Numbers adds a table of small numbers, such as the *idworker.Numbers of idworker.Module. Its
	// method is called concurrently and must return immediately. Default: no table.
	Numbers interface{ Status() []numbers.Status }
}

// New returns the console of a process. It is safe for concurrent use. Every 5 s, the console
// records how many ids each worker has issued, until it is garbage collected. It keeps no
// goroutine running. Mount it at any path that ends with a slash, with or without
// http.StripPrefix.
func New(cfg Config) http.Handler {
	var workers []worker
	for _, w := range cfg.Workers {
		if w != nil {
			workers = append(workers, w)
		}
	}
	return newConsole(cfg, workers...)
}

// A worker is a *snowlease.Worker. Its methods return immediately, except Slots.
type worker interface {
	Status() snowlease.Status
	Healthy() error
	Layout() snowflake.Layout
	Slots(ctx context.Context) ([]lease.Slot, error)
}

func newConsole(cfg Config, workers ...worker) *console {
	segments := func() []numbers.Status { return nil }
	if !fault.Nil(cfg.Numbers) {
		segments = cfg.Numbers.Status
	}
	host, _ := os.Hostname()
	c := &console{
		process:  process{Program: filepath.Base(os.Args[0]), Host: host, PID: os.Getpid(), Started: started},
		segments: sequences{status: segments, histories: map[string]*history{}},
	}
	for i, w := range workers {
		c.panels = append(c.panels, &panel{n: i + 1, worker: w, slots: slots{worker: w}})
	}
	c.pages = template.Must(template.New("").Funcs(template.FuncMap{
		"stamp": stamp, "ago": ago, "length": length, "joined": joined, "moment": moment, "thousands": thousands, "percent": percent, "number": number,
	}).ParseFS(assets, "assets/*.html"))
	c.sample()
	keepSampling(weak.Make(c))
	return c
}

type console struct {
	pages    *template.Template
	panels   []*panel
	segments sequences
	process  process
}

// A panel shows one worker.
type panel struct {
	n        int // the panel's number, from 1
	worker   worker
	slots    slots
	renewals renewals
	history  history
}

// panel returns the panel of the worker that the request names by number or namespace. Without
// a name it returns the first panel, and nil if there is no such worker.
func (c *console) panel(r *http.Request) *panel {
	name := r.URL.Query().Get("worker")
	if name == "" && len(c.panels) > 0 {
		return c.panels[0]
	}
	if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(c.panels) {
		return c.panels[n-1]
	}
	for _, p := range c.panels {
		if p.worker.Status().Namespace == name {
			return p
		}
	}
	return nil
}

// ServeHTTP serves the console. It routes by the end of the path, because the prefix is
// unknown.
func (c *console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'")
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
	p := c.panel(r)
	if len(c.panels) == 0 {
		fail(w, http.StatusNotFound, "console.Config.Workers has no worker, or a nil one: give the *snowlease.Worker")
		return
	}
	if p == nil {
		fail(w, http.StatusNotFound, fmt.Sprintf("there is no worker %q here; api/workers lists all", r.URL.Query().Get("worker")))
		return
	}
	dir, file := path.Split(r.URL.Path)
	switch path.Base(dir) + "/" + file {
	case "api/workers":
		reply(w, http.StatusOK, c.workers())
	case "api/status":
		reply(w, http.StatusOK, c.status(p))
	case "api/segments":
		reply(w, http.StatusOK, c.segments.all())
	case "api/slots":
		p.slots.serve(w, r)
	case "parts/live":
		c.render(w, "live", c.page(p))
	case "parts/slots":
		c.render(w, "slots", p.slots.pool(r.Context()))
	default:
		c.serveFile(w, r, p, dir, file)
	}
}

// rebound reports whether a request to a loopback address names another host. In a DNS
// rebinding attack, a web page whose name resolves to that address makes the reader's browser
// send such a request, and reads the response.
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
func (c *console) serveFile(w http.ResponseWriter, r *http.Request, p *panel, dir, file string) {
	switch {
	case dir == "" && file == "": // http.StripPrefix removed the whole path, but relative links need a slash
		w.Header().Set("Location", "./"+path.Base(strings.SplitN(r.RequestURI, "?", 2)[0])+"/")
		w.WriteHeader(http.StatusMovedPermanently)
	case file == "":
		page := c.page(p)
		page.Pool = p.slots.soon(r.Context())
		c.render(w, "page", page)
	case file == "icon.svg":
		w.Header().Set("Content-Type", "image/svg+xml")
		_, _ = w.Write([]byte(icon(level(r.URL.Query().Get("level"))))) // the client may be gone
	case file == "style.css" || file == "app.js":
		http.ServeFileFS(w, r, assets, "assets/"+file)
	default:
		fail(w, http.StatusNotFound, "there is no such page; the console has its page, api/status, api/workers, api/segments and api/slots")
	}
}

// page is the data of the page. Only the whole page has Pool.
type page struct {
	Status  status
	Workers []entry // the worst first; nil if there is only one
	Worst   entry   // of the workers and segments
	N       int     // the worker shown
	Query   string  // "?worker=2", or empty for the only one
	Pool    *pool

	Segments []sequence
}

// Worse reports whether another worker or a segment needs more attention than the one shown.
func (g page) Worse() bool { return g.Worst.Outlook.Level.rank() > g.Status.Outlook.Level.rank() }

func (c *console) page(p *panel) page {
	all := c.workers()
	slices.SortStableFunc(all, func(a, b entry) int { return b.Outlook.Level.rank() - a.Outlook.Level.rank() })
	g := page{Status: c.status(p), Worst: all[0], N: p.n, Segments: c.segments.all()}
	for _, q := range g.Segments {
		if q.Outlook.Level.rank() > g.Worst.Outlook.Level.rank() {
			g.Worst = entry{Namespace: "segment " + q.Name, Outlook: q.Outlook}
		}
	}
	if len(all) > 1 {
		g.Workers, g.Query = all, "?worker="+strconv.Itoa(p.n)
	}
	return g
}

// entry is a worker in api/workers.
type entry struct {
	N         int             `json:"n"` // the value for ?worker=
	Namespace string          `json:"namespace"`
	Worker    int64           `json:"worker"`
	State     snowlease.State `json:"state"`
	Outlook   outlook         `json:"outlook"`
	Error     string          `json:"error,omitempty"` // the error of the last attempt
}

func (c *console) workers() []entry {
	var all []entry
	for _, p := range c.panels {
		st, o, _ := p.look()
		all = append(all, entry{N: p.n, Namespace: st.Namespace, Worker: st.Worker, State: st.State, Outlook: o, Error: st.Error})
	}
	return all
}

// render sends the whole page, or only an error if the template fails.
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
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	_ = out.Encode(body) // the client may be gone
}

func fail(w http.ResponseWriter, code int, text string) {
	reply(w, code, map[string]string{"error": text})
}

// now returns the time without its monotonic reading.
func now() time.Time { return time.Now().Round(0) }
