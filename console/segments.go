package console

import (
	"errors"
	"math"
	"sync"
	"time"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// sequences are the segments of a console.
type sequences struct {
	status    func() []numbers.Status
	mu        sync.Mutex
	histories map[string]*history // by name
}

// sample adds a sample to each history.
func (s *sequences) sample() {
	for _, st := range s.status() {
		s.history(st.Name).add(sample{at: time.Now(), issued: st.Issued, able: st.State == numbers.StateReady})
	}
}

func (s *sequences) history(name string) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	h, ok := s.histories[name]
	if !ok {
		h = new(history)
		s.histories[name] = h
	}
	return h
}

// A sequence is a segment in api/segments, and a row of the page's table.
type sequence struct {
	numbers.Status
	Outlook outlook `json:"outlook"`
	Rate    float64 `json:"rate"` // numbers per second in the last minute
	// Lasts is how long the reserved numbers last at that rate. It is 0 if unknown.
	Lasts time.Duration `json:"lasts_ns,omitempty"`

	Host time.Time `json:"-"` // this host's clock
}

// all returns the segments in the order of Config.Numbers.
func (s *sequences) all() []sequence {
	list := []sequence{}
	for _, st := range s.status() {
		q := sequence{Status: st, Rate: s.history(st.Name).lately(st.Issued), Host: now()}
		if lasts := float64(st.Remaining) / q.Rate * float64(time.Second); lasts < math.MaxInt64 { // false for 0/0
			q.Lasts = time.Duration(lasts)
		}
		q.Outlook = newSegmentOutlook(st, q.Lasts, q.Host)
		list = append(list, q)
	}
	return list
}

// newSegmentOutlook returns the outlook of a segment. lasts is how long the reserved numbers
// last, or 0 if unknown.
func newSegmentOutlook(st numbers.Status, lasts time.Duration, host time.Time) outlook {
	o := outlookOfNumbers(st, moment(st.FailingSince, host)+" UTC")
	o.numbers = true
	if o.Level == amber || o.Level == red {
		o.Since = st.FailingSince.UTC().Truncate(time.Millisecond)
	}
	if o.Level == amber && lasts > 0 {
		o.Until = host.Add(lasts).UTC().Truncate(time.Millisecond)
	}
	return o
}

func outlookOfNumbers(st numbers.Status, since string) outlook {
	o := outlook{Level: red, Kind: stopped, Text: "no numbers: ", Link: noNumbers}
	switch {
	case st.State == numbers.StateNotStarted:
		return outlook{Level: gray, Kind: off, Text: "not started", Do: "Nothing, while the program starts. Numbers are available from OnStart on."}
	case st.State == numbers.StateClosed:
		return outlook{Level: gray, Kind: off, Text: "closed: issues no more numbers"}
	case st.State == numbers.StateReady && st.FailingSince.IsZero():
		return outlook{Level: green, Kind: ok, Text: "issues numbers"}
	case st.State == numbers.StateReady && st.Remaining > 0:
		o = outlook{Level: amber, Kind: failing, Text: "numbers stop after " + thousands(st.Remaining) + " more: ", Link: fewNumbers}
	case st.State == numbers.StateReady: // in strict order
		o = outlook{Level: amber, Kind: failing, Text: "the next call asks the store again: ", Link: noNumbers}
	}
	switch {
	case errors.Is(st.Err, numbers.ErrEnd):
		o.Text += "none is left up to " + thousands(st.Max)
		o.Do, o.Link = "Raise max in all processes. If columns or clients cannot hold greater numbers, widen them first.", lastNumbers
		return o
	case errors.Is(st.Err, numbers.ErrUnknown):
		o.Do, o.Link = "Create the name, as the error says.", lostNumbers
	case errors.Is(st.Err, lease.ErrSetup):
		o.Do = "Change the setup of the store as the error says."
	default:
		o.Do = "Make " + st.Store + " reachable again. Numbers resume by themselves, without a restart."
	}
	o.Text += map[bool]string{false: "refills", true: "calls of the store"}[st.Strict] + " have failed since " + since
	return o
}
