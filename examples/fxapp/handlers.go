package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

// Limits of requests.
const (
	requestTimeout = 10 * time.Second
	maxIDs         = 1000
	maxPage        = 100
	defaultPage    = 20
)

// A handler answers requests. It is safe for concurrent use.
type handler struct {
	store  *store
	worker *idworker.IdWorker
	log    *slog.Logger
}

// An endpoint returns what is written as JSON, or an error that tell makes one of.
type endpoint func(w http.ResponseWriter, r *http.Request) (status int, body any, err error)

func newHandler(s *store, w *idworker.IdWorker, log *slog.Logger) http.Handler {
	h := &handler{store: s, worker: w, log: log}
	mux := http.NewServeMux()
	for path, methods := range map[string]map[string]endpoint{
		"/orders":      {"POST": h.postOrder, "GET": h.getOrders},
		"/orders/{id}": {"GET": h.getOrder},
		"/ids":         {"GET": h.getIDs},
		"/ids/{id}":    {"GET": h.getID},
		"/healthz":     {"GET": h.healthz},
		"/readyz":      {"GET": h.readyz},
		"/":            {},
	} {
		mux.Handle(path, h.route(methods))
	}
	mux.Handle("/idworker/", console.New(w)) // for operators: a service has it on a port of theirs
	return mux
}

func (h *handler) route(methods map[string]endpoint) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), requestTimeout)
		defer cancel()
		r = r.WithContext(ctx)
		method := r.Method
		if method == http.MethodHead { // net/http leaves the body out
			method = http.MethodGet
		}
		var (
			status int
			body   any
			err    error
		)
		switch e := methods[method]; {
		case len(methods) == 0:
			err = bad(http.StatusNotFound, "there is nothing at %s: see /orders, /ids, /idworker/, /healthz and /readyz", r.URL.Path)
		case e == nil:
			allowed := slices.Sorted(maps.Keys(methods))
			w.Header().Set("Allow", strings.Join(allowed, ", "))
			err = bad(http.StatusMethodNotAllowed, "%s takes %s, not %s", r.URL.Path, strings.Join(allowed, " and "), r.Method)
		default:
			status, body, err = e(w, r)
		}
		if err != nil {
			status, body = h.tell(w, r, err)
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		w.WriteHeader(status)
		if err := json.NewEncoder(w).Encode(body); err != nil {
			h.log.Debug("fxapp: write the response", "err", err)
		}
	})
}

// A problem is what is wrong with a request.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func bad(status int, format string, args ...any) error {
	return &problem{status, fmt.Sprintf(format, args...)}
}

// tell makes an answer of an error. What went wrong here goes to the log only.
func (h *handler) tell(w http.ResponseWriter, r *http.Request, err error) (status int, body any) {
	text := ""
	var p *problem
	switch {
	case errors.As(err, &p):
		status, text = p.status, p.text
	case errors.Is(err, idworker.ErrNotStarted), errors.Is(err, idworker.ErrLeaseExpired),
		errors.Is(err, idworker.ErrStopped), errors.Is(err, idworker.ErrExhausted):
		w.Header().Set("Retry-After", "1")
		status, text = http.StatusServiceUnavailable, "no ids at the moment: see /readyz for the reason"
	case r.Context().Err() != nil:
		status, text = http.StatusServiceUnavailable, "it took too long: try again"
	default:
		status, text = http.StatusInternalServerError, "something is wrong here: see the log of the service"
	}
	if p == nil {
		h.log.Error("fxapp: request failed", "method", r.Method, "path", r.URL.Path, "status", status, "err", err)
	}
	return status, map[string]string{"error": text}
}

func (h *handler) postOrder(w http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := onlyQuery(r); err != nil {
		return 0, nil, err
	}
	o, err := readOrder(w, r)
	if err != nil {
		return 0, nil, err
	}
	order, err := h.store.place(r.Context(), o)
	if err != nil {
		return 0, nil, err
	}
	w.Header().Set("Location", fmt.Sprintf("/orders/%d", order.ID))
	return http.StatusCreated, order, nil
}

// A page is a part of the list of orders. Next is what before must be for the one
// after it.
type page struct {
	Orders []Order      `json:"orders"`
	Next   snowflake.ID `json:"next,omitzero"`
}

func (h *handler) getOrders(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	err := onlyQuery(r, "limit", "before")
	limit, err2 := number(r, "limit", defaultPage, maxPage)
	before := int64(math.MaxInt64)
	if q := r.URL.Query(); err == nil && q.Has("before") {
		before, err = parseID(q.Get("before"))
	}
	if err = errors.Join(err, err2); err != nil {
		return 0, nil, err
	}
	orders, err := h.store.list(r.Context(), before, limit)
	if err != nil {
		return 0, nil, fmt.Errorf("list orders: %w", err)
	}
	p := page{Orders: orders}
	if len(orders) == limit {
		p.Next = snowflake.ID(orders[limit-1].ID)
	}
	return http.StatusOK, p, nil
}

func (h *handler) getOrder(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := onlyQuery(r); err != nil {
		return 0, nil, err
	}
	id, err := parseID(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	o, err := h.store.order(r.Context(), id)
	switch {
	case errors.Is(err, gorm.ErrRecordNotFound):
		return 0, nil, bad(http.StatusNotFound, "there is no order %d", id)
	case err != nil:
		return 0, nil, fmt.Errorf("find the order: %w", err)
	}
	return http.StatusOK, o, nil
}

func (h *handler) getIDs(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := onlyQuery(r, "n"); err != nil {
		return 0, nil, err
	}
	n, err := number(r, "n", 1, maxIDs)
	if err != nil {
		return 0, nil, err
	}
	// Not longer than a statement would wait.
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	ids := make([]int64, n)
	if err := h.worker.NextIDs(ctx, ids); err != nil {
		return 0, nil, err
	}
	texts := make([]string, n)
	for i, id := range ids {
		texts[i] = strconv.FormatInt(id, 10)
	}
	return http.StatusOK, map[string][]string{"ids": texts}, nil
}

// decoded is an id taken apart.
type decoded struct {
	ID       snowflake.ID `json:"id"`
	Time     time.Time    `json:"time"`
	Worker   int64        `json:"worker"`
	Business int64        `json:"business"`
	Sequence int64        `json:"sequence"`
}

func (h *handler) getID(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := onlyQuery(r); err != nil {
		return 0, nil, err
	}
	id, err := parseID(r.PathValue("id"))
	if err != nil {
		return 0, nil, err
	}
	p, err := h.worker.Decode(id)
	if err != nil {
		return 0, nil, bad(http.StatusBadRequest, "%v", err)
	}
	return http.StatusOK, decoded{snowflake.ID(id), p.Time, p.Worker, p.Business, p.Sequence}, nil
}

// healthz says that the process lives. A restart brings no lease back, so it does not
// look at it.
func (h *handler) healthz(http.ResponseWriter, *http.Request) (int, any, error) {
	return http.StatusOK, map[string]string{"status": "ok"}, nil
}

// readiness is what readyz answers.
type readiness struct {
	Ready  bool            `json:"ready"`
	Reason string          `json:"reason,omitempty"`
	Status idworker.Status `json:"status"`
}

func (h *handler) readyz(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	if err := errors.Join(h.worker.Healthy(r.Context()), h.store.segments.Healthy(r.Context())); err != nil {
		return http.StatusServiceUnavailable, readiness{Reason: err.Error(), Status: h.worker.Status()}, nil
	}
	return http.StatusOK, readiness{Ready: true, Status: h.worker.Status()}, nil
}
