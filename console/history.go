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

// keepSampling samples the workers of a console until the console is garbage collected. Between
// two samples there is only a timer, which does not keep the console alive.
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
		p.history.add(sample{at: time.Now(), issued: st.Issued, able: issues(st)})
	}
	c.segments.sample()
}

// A sample is the number of ids that a worker had issued at a time, and whether it could issue
// ids.
type sample struct {
	at     time.Time
	issued int64
	able   bool
}

// A history holds the samples of the last 10 minutes.
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

// A rate holds the ids per second of a worker in the last 10 minutes, or since the start of the
// console if that is shorter.
type rate struct {
	Now    float64   `json:"now"` // the rate in the last 5 to 10 s
	Peak   float64   `json:"peak"`
	PeakAt time.Time `json:"peak_at,omitzero"`
	// History has the rates since From, one for each 5 s.
	From    time.Time `json:"from"`
	History []float64 `json:"history"`

	until  time.Time
	points []point
}

// A point of the chart is the later one of two consecutive samples.
type point struct {
	from, at time.Time
	rate     float64
	able     bool // ids could be issued at both samples
}

// rate returns the rates up to now. issued is the number of ids issued so far.
func (h *history) rate(issued int64) rate {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := time.Now()
	r := rate{History: []float64{}, until: at.Round(0).UTC(), From: h.samples[0].at.Round(0).UTC()}
	for i, s := range h.samples[1:] {
		before := h.samples[i]
		p := point{before.at.Round(0).UTC(), s.at.Round(0).UTC(), perSecond(before, s), before.able && s.able}
		r.points, r.History = append(r.points, p), append(r.History, p.rate)
		if p.rate > r.Peak {
			r.Peak, r.PeakAt = p.rate, p.at
		}
	}
	r.Now = perSecond(h.samples[max(0, len(h.samples)-2)], sample{at: at, issued: issued})
	if r.Now > r.Peak {
		r.Peak, r.PeakAt = r.Now, r.until
	}
	return r
}

// lately returns the numbers issued per second in the last minute, as far as there are samples.
// It returns 0 without samples.
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

// A band is a period in the chart in which no ids could be issued.
type band struct{ X, Width string }

// Bands returns the bands of the chart.
func (r rate) Bands() []band {
	var all []band
	from := time.Time{}
	for i, p := range r.points {
		if !p.able && (i == 0 || r.points[i-1].able) {
			from = p.from
		}
		if !p.able && (i+1 == len(r.points) || r.points[i+1].able) {
			all = append(all, band{decimal(r.x(from)), decimal(r.x(p.at) - r.x(from))})
		}
	}
	return all
}

// issues reports whether ids are issued in the state of st.
func issues(st snowlease.Status) bool {
	switch st.State {
	case snowlease.StateReady, snowlease.StateBorrowing:
		return true
	case snowlease.StateQuarantined: // after a lost lease, the worker uses up its range
		return st.Sequence == nil && st.Worker >= 0
	case snowlease.StateUnavailable:
		return st.Sequence != nil && st.Sequence.AtHand > 0
	}
	return false
}
