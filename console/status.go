package console

import (
	"sync"
	"time"

	"github.com/snowlease/snowlease/idworker"
)

// status is what api/status answers and the lease is drawn from.
type status struct {
	idworker.Status
	Ready bool `json:"ready"`
	// Ends is when the layout's time field runs out.
	Ends time.Time `json:"ends"`
	// Seen are the times of the renewals that the console has seen: while somebody looks.
	Seen []time.Time `json:"renewals_seen,omitempty"`
	Line *line       `json:"-"`
}

func (c *console) status() status {
	st := status{Status: c.worker.Status(), Ready: c.worker.Ready(), Ends: c.worker.Layout().Ends().UTC()}
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

// Last is the last renewal that was seen.
func (st status) Last() time.Time { return st.Seen[len(st.Seen)-1] }

// Ahead tells whether all ids lie ahead of the clock.
func (st status) Ahead() bool { return st.Floor.After(st.Now) }

// maxRenewals is how many renewals are kept to be drawn.
const maxRenewals = 32

// renewals are the times of renewals that were seen, of one lease.
type renewals struct {
	mu    sync.Mutex
	token int64
	times []time.Time
}

// seen adds t and returns all, in a slice of the caller's.
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

// line is the lease on a time line; places are percents of its width.
type line struct {
	Floor   float64
	Cut     bool // the floor lies further left
	Now     float64
	Used    float64 // where the last id may lie
	Ceiling float64
	Marks   []float64 // renewals
	Spent   float64   // width of the part that is used up
	Left    float64   // width of the part that is left
}

func (st status) line() *line {
	// The last three terms, at least a minute: the floor may lie days back.
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
