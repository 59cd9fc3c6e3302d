package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"mime"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/fx"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/publicid"
)

// A handler serves the HTTP endpoints. It is safe for concurrent use.
type handler struct {
	store    *store
	worker   *idworker.IdWorker
	segments *idworker.Numbers
	log      *slog.Logger
}

// handlers answer clients and operators. Without a port for operators, both are the same.
type handlers struct{ clients, operators http.Handler }

func newHandlers(cfg config, s *store, w *idworker.IdWorker, segments *idworker.Numbers, log *slog.Logger) handlers {
	h, mux := &handler{s, w, segments, log}, http.NewServeMux()
	// {"customer":{"name":"Ada","email":"ada@example.org"},"items":[{"product":"tea","quantity":2,"price_cents":450}]}
	mux.HandleFunc("POST /orders", h.answer(http.StatusCreated, h.postOrder))
	mux.HandleFunc("GET /orders", h.answer(http.StatusOK, h.getOrders)) // newest first; ?limit= and ?before=ID
	mux.HandleFunc("GET /orders/{id}", h.answer(http.StatusOK, h.getOrder))
	operators := mux
	if cfg.Operators != "" {
		operators = http.NewServeMux()
	}
	operators.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusOK, map[string]string{"status": "ok"}) // even without a lease, which no restart brings back
	})
	operators.HandleFunc("GET /readyz", h.readyz)
	operators.Handle("/idworker/", console.New(console.Config{Workers: []*idworker.IdWorker{w}, Numbers: segments}))
	operators.Handle("GET /{$}", http.RedirectHandler("/idworker/", http.StatusFound))
	guard := func(next http.Handler) http.Handler { return http.MaxBytesHandler(knownHosts(cfg.Hosts, next), 64<<10) }
	return handlers{guard(mux), guard(operators)}
}

// knownHosts refuses requests that name another host, as a web page does whose name leads
// here (DNS rebinding).
func knownHosts(hosts []string, next http.Handler) http.Handler {
	hosts = append([]string{"localhost"}, hosts...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if net.ParseIP(strings.Trim(host, "[]")) == nil && !slices.ContainsFunc(hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
			write(w, http.StatusMisdirectedRequest, map[string]string{"error": "the Host header names a host that the setting hosts does not list"})
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ports are the listeners of the service.
type ports struct{ clients, operators net.Listener }

// listen opens the ports before the worker borrows a worker id. If a port is in use, fx closes the
// database pools, which are open by then.
func listen(lc fx.Lifecycle, cfg config, _ *gorm.DB, _ redis.UniversalClient) *ports {
	p := new(ports)
	lc.Append(fx.StartStopHook(func() (err error) {
		if p.clients, err = net.Listen("tcp", cfg.Listen); err != nil {
			return fmt.Errorf("%w: choose another address with -listen, such as 127.0.0.1:0", err)
		}
		p.operators = p.clients
		if cfg.Operators != "" {
			if p.operators, err = net.Listen("tcp", cfg.Operators); err != nil {
				return errors.Join(fmt.Errorf("%w: choose another address for the setting operators", err), p.clients.Close())
			}
		}
		return nil
	}, func() { // unless a server has closed them
		_, _ = p.clients.Close(), p.operators.Close()
	}))
	return p
}

// serve answers requests while the application runs.
func serve(lc fx.Lifecycle, sh fx.Shutdowner, cfg config, p *ports, h handlers, log *slog.Logger) {
	if cfg.Operators != "" {
		serveAt(lc, sh, &p.operators, h.operators, log)
	}
	serveAt(lc, sh, &p.clients, h.clients, log)
	lc.Append(fx.StartHook(func() {
		log.Info("fxapp: serving", "url", "http://"+p.clients.Addr().String()+"/orders", "console", "http://"+p.operators.Addr().String()+"/idworker/")
	}))
}

func serveAt(lc fx.Lifecycle, sh fx.Shutdowner, listener *net.Listener, h http.Handler, log *slog.Logger) {
	server := &http.Server{Handler: h, ReadTimeout: 5 * time.Second, WriteTimeout: 10 * time.Second}
	lc.Append(fx.StartStopHook(func() {
		go func() {
			if err := server.Serve(*listener); !errors.Is(err, http.ErrServerClosed) {
				log.Error("fxapp: HTTP server", "err", err)
				_ = sh.Shutdown(fx.ExitCode(1)) // fails only if the application is already stopping
			}
		}()
	}, server.Shutdown))
}

// answer writes what an endpoint returns: a body with the status, or an error.
func (h *handler) answer(status int, endpoint func(http.ResponseWriter, *http.Request) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), 5*time.Second)
		defer cancel()
		if body, err := endpoint(w, r.WithContext(ctx)); err != nil {
			h.fail(w, r, err)
		} else {
			write(w, status, body)
		}
	}
}

// A clientError describes a bad request, and the client may read it.
type clientError struct {
	error
	status int
}

func (h *handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	status, text := http.StatusInternalServerError, "internal error: see the log of the service"
	var fault clientError
	if errors.As(err, &fault) {
		status, text = fault.status, fault.Error()
	} else if h.healthy() != nil {
		status, text = http.StatusServiceUnavailable, "no ids at the moment: see /readyz for the reason"
		w.Header().Set("Retry-After", "1")
	}
	h.log.Warn("fxapp: request failed", "method", r.Method, "path", r.URL.Path, "status", status, "err", err)
	write(w, status, map[string]string{"error": text})
}

func write(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error": "the answer has no JSON"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
}

func (h *handler) postOrder(w http.ResponseWriter, r *http.Request) (any, error) {
	// A page of another site can send a form or plain text, but JSON only with permission (CORS).
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, clientError{errors.New("the Content-Type is not application/json"), http.StatusUnsupportedMediaType}
	}
	var o Order
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&o); err != nil {
		return nil, clientError{fmt.Errorf("the body is not an order in JSON: %w", err), http.StatusBadRequest}
	}
	if err := check(o); err != nil {
		return nil, clientError{err, http.StatusBadRequest}
	}
	order, err := h.store.place(r.Context(), o)
	if err != nil {
		return nil, err
	}
	w.Header().Set("Location", "/orders/"+order.ID.String())
	return order, nil
}

func (h *handler) getOrders(_ http.ResponseWriter, r *http.Request) (any, error) {
	limit, before := 20, publicid.ID[Order](math.MaxInt64)
	query := r.URL.Query()
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 100 {
			return nil, clientError{fmt.Errorf("limit %.40q is not a number from 1 to 100", text), http.StatusBadRequest}
		}
		limit = n
	}
	if text := query.Get("before"); text != "" {
		if err := before.UnmarshalText([]byte(text)); err != nil {
			return nil, clientError{fmt.Errorf("before: %w", err), http.StatusBadRequest}
		}
	}
	orders, err := h.store.page(r.Context(), before, limit)
	page := map[string]any{"orders": orders}
	if len(orders) == limit {
		page["next"] = orders[limit-1].ID // "before" of the next page
	}
	return page, err
}

func (h *handler) getOrder(_ http.ResponseWriter, r *http.Request) (any, error) {
	id, err := publicid.Parse[Order](r.PathValue("id"))
	if err != nil {
		return nil, clientError{err, http.StatusBadRequest}
	}
	order, err := h.store.order(r.Context(), id)
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, clientError{fmt.Errorf("there is no order %s", id), http.StatusNotFound}
	}
	return order, err
}

// readyz answers 503 with the reason while the service issues no ids.
func (h *handler) readyz(w http.ResponseWriter, r *http.Request) {
	status, body := http.StatusOK, map[string]any{"ready": true, "status": h.worker.Status()}
	if err := h.healthy(); err != nil {
		status, body["ready"], body["reason"] = http.StatusServiceUnavailable, false, err.Error()
	}
	write(w, status, body)
}

func (h *handler) healthy() error {
	return errors.Join(h.worker.Healthy(), h.segments.Healthy())
}
