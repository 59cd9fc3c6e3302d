package console

import (
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"weak"

	"github.com/snowlease/snowlease"
)

const (
	sampleEvery = 5 * time.Second
	keepFor     = 10 * time.Minute
	maxSamples  = int(keepFor/sampleEvery) + 1
)

// keepSampling samples the workers of a console until nobody uses it anymore. Between two
// samples there is only a timer, which does not keep the console alive.
func keepSampling(p weak.Pointer[console]) {
	time.AfterFunc(sampleEvery, func() {
		if c := p.Value(); c != nil {
			c.sample()
			keepSampling(p)
		}
	})
}

func (c *console) sample() {
	for _, p := range c.panels {
		st := p.worker.Status()
		p.renewals.seen(st.Renewed.Round(0), st.Token)
		p.history.add(newSample(st, time.Now()))
	}
	c.segments.sample()
}

// A sample is how many ids a worker had issued at a time, and whether it could.
type sample struct {
	at     time.Time
	issued int64
	able   bool
	since  time.Time // if able, the last renewal; otherwise the end of the lease; zero: not known
}

func newSample(st snowlease.Status, at time.Time) sample {
	s := sample{at: at, issued: st.Issued, able: issues(st)}
	switch {
	case s.able:
		s.since = st.Renewed
	case !st.Now.IsZero() && !st.Ceiling.IsZero():
		s.since = circumstances{st, at, st.Now.Sub(at)}.local(st.Ceiling)
	}
	return s
}

// unable returns the time without ids between two samples. It is exact to the end of the
// lease and to the renewal after it.
func unable(before, s sample) (from, to time.Time) {
	from, to = before.at.Round(0).UTC(), s.at.Round(0).UTC()
	since := s.since.Round(0).UTC()
	if since.Before(from) {
		since = from
	} else if since.After(to) {
		since = to
	}
	switch {
	case s.since.IsZero(): // not known
	case before.able:
		from = since
	case s.able:
		to = since
	}
	return from, to
}

// history has the samples of the last 10 minutes.
type history struct {
	mu      sync.Mutex
	samples []sample
}

func (h *history) add(s sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.samples = append(h.samples, s); len(h.samples) > maxSamples {
		h.samples = append(h.samples[:0], h.samples[1:]...)
	}
}

// rate is how many ids a second the worker issued in the last 10 minutes, as far as the
// console is as old.
type rate struct {
	Now    float64   `json:"now"` // in the last 5 to 10 s
	Peak   float64   `json:"peak"`
	PeakAt time.Time `json:"peak_at,omitzero"`
	// Gaps are the times without ids, the latest last.
	Gaps []gap `json:"gaps"`
	// History has the rates from From on, each of 5 s.
	From    time.Time `json:"from"`
	History []float64 `json:"history"`

	until  time.Time
	points []point
}

type gap struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
	// Able reports that the worker could have issued ids, but nobody asked.
	Able bool `json:"able"`
}

// Length returns how long the gap lasts.
func (g gap) Length() time.Duration { return g.To.Sub(g.From) }

type point struct {
	at   time.Time
	rate float64
}

// rate returns the rates up to now, when the worker has issued as many ids.
func (h *history) rate(issued int64) rate {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := time.Now()
	r := rate{Gaps: []gap{}, History: []float64{}, until: at.Round(0).UTC(), From: h.samples[0].at.Round(0).UTC()}
	for i, s := range h.samples[1:] {
		before := h.samples[i]
		p := point{s.at.Round(0).UTC(), perSecond(before, s)}
		r.points, r.History = append(r.points, p), append(r.History, p.rate)
		if p.rate > r.Peak {
			r.Peak, r.PeakAt = p.rate, p.at
		}
		g := gap{before.at.Round(0).UTC(), p.at, before.able && s.able}
		if g.Able && s.issued > before.issued {
			continue
		}
		if !g.Able {
			g.From, g.To = unable(before, s)
		}
		if last := len(r.Gaps) - 1; last >= 0 && r.Gaps[last].To.Equal(g.From) && r.Gaps[last].Able == g.Able {
			r.Gaps[last].To = g.To
		} else {
			r.Gaps = append(r.Gaps, g)
		}
	}
	r.Now = perSecond(h.samples[max(0, len(h.samples)-2)], sample{at: at, issued: issued})
	if r.Now > r.Peak {
		r.Peak, r.PeakAt = r.Now, r.until
	}
	return r
}

// lately returns how many numbers a second were issued in the last minute, as far as there
// are samples, and 0 without any.
func (h *history) lately(issued int64) float64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.samples) == 0 {
		return 0
	}
	from := h.samples[max(0, len(h.samples)-int(time.Minute/sampleEvery))]
	return float64(issued-from.issued) / max(time.Since(from.at).Seconds(), 1)
}

// perSecond returns the rate between two samples, with one decimal place.
func perSecond(from, to sample) float64 {
	d := to.at.Sub(from.at).Seconds()
	if d <= 0 {
		return 0
	}
	return math.Round(max(0, float64(to.issued-from.issued)/d)*10) / 10
}

// The size of the chart.
const (
	chartWidth  = 600.0
	chartHeight = 144.0
	chartTop    = 5.0
)

func (r rate) x(t time.Time) float64 {
	return chartWidth * (1 - min(1, max(0, float64(r.until.Sub(t))/float64(keepFor))))
}

func decimal(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }

// Curve returns the points of the chart's curve.
func (r rate) Curve() string {
	var b strings.Builder
	for _, p := range r.points {
		y := chartTop + chartHeight*(1-p.rate/max(r.Peak, 1e-9))
		b.WriteString(decimal(r.x(p.at)) + "," + decimal(y) + " ")
	}
	return b.String()
}

// Area returns the points of the area below the curve.
func (r rate) Area() string {
	if len(r.points) == 0 {
		return ""
	}
	bottom := "," + decimal(chartTop+chartHeight)
	first := decimal(r.x(r.points[0].at)) + bottom + " "
	return first + r.Curve() + decimal(r.x(r.points[len(r.points)-1].at)) + bottom
}

// A band is a gap in the chart in which no ids could be issued.
type band struct{ X, Width string }

// Bands returns the bands of the chart.
func (r rate) Bands() []band {
	var all []band
	for _, g := range r.Gaps {
		if !g.Able {
			all = append(all, band{decimal(r.x(g.From)), decimal(r.x(g.To) - r.x(g.From))})
		}
	}
	return all
}

// LastGaps returns the last three gaps, the latest first.
func (r rate) LastGaps() []gap {
	var last []gap
	for i := len(r.Gaps) - 1; i >= 0 && len(last) < 3; i-- {
		last = append(last, r.Gaps[i])
	}
	return last
}

// issues reports whether ids are issued in the state of st.
func issues(st snowlease.Status) bool {
	switch st.State {
	case snowlease.StateReady, snowlease.StateBorrowing:
		return true
	case snowlease.StateQuarantined: // after a loss, it uses up its range
		return st.Sequence == nil && st.Worker >= 0
	case snowlease.StateUnavailable:
		return st.Sequence != nil && st.Sequence.AtHand > 0
	}
	return false
}
