package console

import (
	"context"
	"sync"
	"time"

	"github.com/snowlease/snowlease/idworker"
)

// status is the answer of api/status, and the data of the page's lease.
type status struct {
	idworker.Status
	Ready bool `json:"ready"`
	// Ends is when the layout's time field runs out.
	Ends time.Time `json:"ends"`
	// Seen has the times of the renewals that the console saw, which it sees only while
	// somebody reads it.
	Seen []time.Time `json:"renewals_seen,omitempty"`
	Line *line       `json:"-"`
}

func (c *console) status(ctx context.Context) status {
	ready := c.worker.Healthy(context.WithoutCancel(ctx)) == nil
	st := status{Status: c.worker.Status(), Ready: ready, Ends: c.worker.Layout().Ends().UTC()}
	host := now()
	if st.Now.IsZero() {
		st.Now = host
	}
	off := st.Now.Sub(host)
	if st.Renewed.IsZero() {
		return st
	}
	st.Seen = c.renewals.seen(st.Renewed.Round(0), st.Token)
	for i, t := range st.Seen {
		st.Seen[i] = t.Add(off)
	}
	if !st.Ceiling.IsZero() {
		st.Line = st.line()
	}
	return st
}

// Last returns the last renewal that the console saw.
func (st status) Last() time.Time { return st.Seen[len(st.Seen)-1] }

// Ahead reports whether all ids are ahead of the clock.
func (st status) Ahead() bool { return st.Floor.After(st.Now) }

const maxRenewals = 32

// renewals keeps the last maxRenewals renewals of one lease.
type renewals struct {
	mu    sync.Mutex
	token int64
	times []time.Time
}

// seen adds t and returns a copy of all times.
func (r *renewals) seen(t time.Time, token int64) []time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.token != token {
		r.token, r.times = token, nil
	}
	if n := len(r.times); n == 0 || t.After(r.times[n-1]) {
		r.times = append(r.times, t)
	}
	if n := len(r.times); n > maxRenewals {
		r.times = r.times[n-maxRenewals:]
	}
	return append([]time.Time(nil), r.times...)
}

// line is the lease on a time line, in percent of its width.
type line struct {
	Floor   float64
	Cut     bool // the floor is left of the line
	Now     float64
	Used    float64 // the latest time that an id may have
	Ceiling float64
	Marks   []float64 // renewals
	Spent   float64   // width of the used part
	Left    float64   // width of the unused part
}

func (st status) line() *line {
	// Show the last three terms, but at least a minute. The floor may be days ago.
	back := max(time.Minute, 3*st.Ceiling.Sub(st.Last()))
	from := st.Now.Add(-back)
	cut := st.Floor.Before(from)
	if !cut {
		from = st.Floor
	}
	if st.Ahead() {
		from = st.Now
	}
	to := st.Ceiling
	if st.Now.After(to) {
		to = st.Now
	}
	const margin = 3.0 // percent at both ends
	at := func(t time.Time) float64 {
		f := float64(t.Sub(from)) / float64(max(1, to.Sub(from)))
		return margin + (100-2*margin)*min(1, max(0, f))
	}
	l := &line{Cut: cut, Now: at(st.Now), Ceiling: at(st.Ceiling)}
	if !cut {
		l.Floor = at(st.Floor)
	}
	l.Used = min(at(st.Now.Add(st.Lead)), l.Ceiling)
	l.Spent, l.Left = max(0, l.Used-l.Floor), l.Ceiling-l.Used
	for _, t := range st.Seen {
		if !t.Before(from) {
			l.Marks = append(l.Marks, at(t))
		}
	}
	return l
}
