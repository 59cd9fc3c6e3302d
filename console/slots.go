package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

const (
	slotsEvery   = 3 * time.Second
	slotsTimeout = 2 * time.Second
	slotsSoon    = 200 * time.Millisecond
	maxRows      = 256  // in the table
	maxSlots     = 1024 // in api/slots
)

var errNoLister = errors.New("worker ids are not listed here: the worker has no center that lists them")

// slots caches the last result of Worker.Slots.
type slots struct {
	worker worker

	mu   sync.Mutex // held during a call of Slots, so that calls do not overlap
	read time.Time  // the time of the last call
	seen time.Time  // the time of list
	list []lease.Slot
	err  error // the error of the last call

	last atomic.Pointer[pool] // the last result of the method pool; needs no mu
}

// soon is like pool, but returns the last list, if there is one, when the center takes long.
func (s *slots) soon(ctx context.Context) *pool {
	last := s.last.Load()
	if last == nil {
		return s.pool(ctx)
	}
	answer := make(chan *pool, 1)
	go func() { answer <- s.pool(ctx) }()
	select {
	case p := <-answer:
		return p
	case <-time.After(slotsSoon):
		return last
	}
}

// pool returns the slots of the worker's namespace, at most slotsEvery old.
func (s *slots) pool(ctx context.Context) *pool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refresh(ctx)
	p := newPool(s.worker.Status(), s.list, s.seen, s.err)
	s.last.Store(p)
	return p
}

// refresh calls Slots if its last result is too old. The caller holds mu.
func (s *slots) refresh(ctx context.Context) {
	if !s.read.IsZero() && time.Since(s.read) < slotsEvery {
		return
	}
	// The call does not end with the request, because other requests wait for it too.
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), slotsTimeout)
	defer cancel()
	list, err := s.worker.Slots(call)
	s.read, s.err = time.Now(), err
	switch {
	case err == nil:
		s.list, s.seen = list, now().UTC()
	case errors.Is(err, errors.ErrUnsupported):
		s.err = errNoLister
	}
}

// The states of a slot.
const (
	mine    = "this process"
	lent    = "lent"
	waiting = "not yet free" // the lease has ended, but the mark is ahead of the clock
	spare   = "ahead"        // the same, but released or never lent: its next ids carry times ahead of the clock
	lapsed  = "free, not given back"
	free    = "free"
)

// A slot is a lease.Slot for the page and for JSON.
type slot struct {
	Worker int64  `json:"worker"`
	State  string `json:"state"`
	Token  int64  `json:"token"`
	Holder string `json:"holder,omitempty"`
	// Since is when the holder borrowed the worker id. Until is when the lease ends or, after
	// that, when the worker id is free. No id of the worker id has a time above Mark.
	Since time.Time `json:"since,omitzero"`
	Until time.Time `json:"until,omitzero"`
	Mark  time.Time `json:"mark,omitzero"`
}

// At returns the center's clock at this moment.
func (p pool) At() time.Time { return p.Now.Add(now().Sub(p.Seen)) }

// Host returns this host's clock.
func (pool) Host() time.Time { return now() }

// Unlisted reports that the worker's center cannot list worker ids, which is not a fault.
func (p pool) Unlisted() bool { return errors.Is(p.Err, errNoLister) }

// A pool is the response of api/slots, and the data of the page's table.
type pool struct {
	// Seen is when the list was read, by this host's clock. If the store has not responded
	// since, Error is the reason.
	Seen      time.Time      `json:"seen,omitzero"`
	Error     string         `json:"error,omitempty"`
	Namespace string         `json:"namespace"`
	Center    string         `json:"center"`
	Size      int            `json:"size"`
	Now       time.Time      `json:"now,omitzero"` // the center's clock at Seen
	Counts    map[string]int `json:"counts"`
	// Slots has all slots of a pool of up to 1,024. For a larger pool, it has the first 1,024
	// that are not free, and Left is the number of slots left out.
	Slots []slot `json:"slots"`
	Left  int    `json:"left,omitempty"`

	Err   error  `json:"-"`
	Rows  []slot `json:"-"`
	More  int    `json:"-"` // rows left out
	InUse int    `json:"-"`

	Replicas int64 `json:"-"` // the number of replicas that the pool is sufficient for
}

func newPool(st snowlease.Status, list []lease.Slot, seen time.Time, err error) *pool {
	p := &pool{
		Namespace: st.Namespace, Center: st.Center, Counts: map[string]int{}, Slots: []slot{}, Replicas: st.Pool.Replicas(),
		Err: err, Size: len(list), Seen: seen,
	}
	if err != nil {
		p.Error = err.Error()
	}
	all := make([]slot, 0, len(list))
	for _, s := range list {
		v := view(s, st.Worker, st.Token)
		if v.State == mine && st.Ceiling.After(v.Until) {
			v.Until = st.Ceiling.UTC() // renewed since the list was read
		}
		p.Counts[v.State]++
		all, p.Now = append(all, v), millis(s.Now)
		switch {
		case v.State == free && len(list) > maxSlots:
		case len(p.Slots) < maxSlots:
			p.Slots = append(p.Slots, v)
		default:
			p.Left++
		}
	}
	// Free slots are not in the table, except those that were not released, which come last.
	places := map[string]int{mine: 1, lent: 1, waiting: 1, lapsed: 2}
	p.Rows = slices.DeleteFunc(all, func(s slot) bool { return places[s.State] == 0 })
	slices.SortStableFunc(p.Rows, func(a, b slot) int { return places[a.State] - places[b.State] })
	p.More = max(0, len(p.Rows)-maxRows)
	p.Rows = p.Rows[:len(p.Rows)-p.More]
	p.InUse = p.Counts[mine] + p.Counts[lent] + p.Counts[waiting]
	return p
}

func view(s lease.Slot, worker, token int64) slot {
	v := slot{
		Worker: s.Worker, Token: s.Token, Holder: printable.Text(s.Holder),
		Since: millis(s.Since), Until: millis(s.Expires), Mark: millis(s.HighWater), State: free,
	}
	switch {
	case s.Expires >= s.Now && s.Worker == worker && s.Token == token:
		v.State = mine
	case s.Expires >= s.Now:
		v.State = lent
	case !s.Free() && s.Holder == "":
		v.State, v.Until = spare, millis(s.HighWater)
	case !s.Free():
		v.State, v.Until = waiting, millis(max(s.Expires, s.HighWater))
	case s.Holder != "":
		v.State = lapsed
	}
	return v
}

func millis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return printable.Time(ms).UTC()
}

// serve serves the list. If the store does not respond, the status is 502, with the last
// list.
func (s *slots) serve(w http.ResponseWriter, r *http.Request) {
	answer := s.pool(r.Context())
	switch {
	case answer.Unlisted():
		fail(w, http.StatusNotImplemented, answer.Error)
	case answer.Err != nil && answer.Seen.IsZero():
		fail(w, http.StatusBadGateway, answer.Error)
	case answer.Err != nil:
		reply(w, http.StatusBadGateway, answer)
	default:
		reply(w, http.StatusOK, answer)
	}
}
