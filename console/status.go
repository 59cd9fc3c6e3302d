package console

import (
	"slices"
	"sync"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/printable"
)

// A status is the response of api/status, and the data of the page's lease.
type status struct {
	Outlook outlook `json:"outlook"`
	Process process `json:"process"`
	snowlease.Status
	Ready bool `json:"ready"`
	// Ends is when the layout's time field runs out.
	Ends time.Time `json:"ends"`
	// Seen has the times of the renewals that the console observed. It looks every 5 s and at
	// each request.
	Seen []time.Time `json:"renewals_seen,omitempty"`
	Rate rate        `json:"rate"`

	Line *line         `json:"-"`
	Host time.Time     `json:"-"` // this host's clock
	Off  time.Duration `json:"-"` // how far the center's clock is ahead of Host
}

// process identifies this process independently of its holder name in the center.
type process struct {
	Program string    `json:"program"`
	Host    string    `json:"host"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
}

// started is when the process loaded this package, which is close to its start.
var started = now().UTC()

// look returns the worker's status, its outlook, and whether it is healthy.
func (p *panel) look() (snowlease.Status, outlook, bool) {
	err := p.worker.Healthy()
	st := p.worker.Status()
	return st, newOutlook(st, err, now()), err == nil
}

func (c *console) status(p *panel) status {
	was, o, healthy := p.look()
	st := status{
		Outlook: o, Process: c.process, Status: was, Ready: healthy,
		Ends: printable.Time(p.worker.Layout().Ends().UnixMilli()).UTC(), Rate: p.history.rate(was.Issued), Host: now(),
	}
	if st.Now.IsZero() {
		st.Now = st.Host
	}
	st.Off = st.Now.Sub(st.Host)
	st.Seen = p.renewals.seen(st.Renewed.Round(0), st.Token)
	for i, t := range st.Seen {
		st.Seen[i] = t.Add(st.Off)
	}
	if len(st.Seen) > 0 && !st.Ceiling.IsZero() {
		st.Line = st.line()
	}
	return st
}

// Last returns the last renewal that the console observed.
func (st status) Last() time.Time { return st.Seen[len(st.Seen)-1] }

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
	if n := len(r.times); !t.IsZero() && (n == 0 || t.After(r.times[n-1])) {
		r.times = append(r.times, t)
	}
	if n := len(r.times); n > maxRenewals {
		r.times = r.times[n-maxRenewals:]
	}
	return slices.Clone(r.times)
}

// A line is the lease on a time line, in percent of the line's width.
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
	// Show the last three terms, but at least a minute: the floor may be days ago.
	back := max(time.Minute, 3*st.Ceiling.Sub(st.Last()))
	from := st.Now.Add(-back)
	if gone := st.Now.Sub(st.Ceiling); gone > 0 {
		if from = st.Ceiling.Add(-back); gone > 3*back {
			return nil // the lease would be a dot
		}
	}
	cut := st.Floor.Before(from)
	if !cut {
		from = st.Floor
	}
	if st.Floor.After(st.Now) {
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
