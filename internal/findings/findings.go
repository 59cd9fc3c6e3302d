// Package findings collects what checks of a store have found.
package findings

import (
	"fmt"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A List grows by a finding a call.
type List []lease.Finding

// OK adds that all is in order.
func (l *List) OK(check, seen string) {
	*l = append(*l, lease.Finding{Level: lease.LevelOK, Check: check, Seen: seen})
}

// Note adds what is to be known.
func (l *List) Note(check, seen, advice string) {
	*l = append(*l, lease.Finding{Level: lease.LevelNote, Check: check, Seen: seen, Advice: advice})
}

// Fault adds what must be put right.
func (l *List) Fault(check, seen, advice string) {
	*l = append(*l, lease.Finding{Level: lease.LevelFault, Check: check, Seen: seen, Advice: advice})
}

// Judge adds a fault if bad, else that all is in order.
func (l *List) Judge(bad bool, check, seen, advice string) {
	if bad {
		l.Fault(check, seen, advice)
	} else {
		l.OK(check, seen)
	}
}

// Unknown adds a check that could not be made.
func (l *List) Unknown(check string, err error) {
	l.Note(check, "could not be looked at: "+err.Error(), "")
}

// Clock compares the clock of a store, which was now between two times here.
func (l *List) Clock(now, before, after time.Time) {
	middle := before.Add(after.Sub(before) / 2)
	off := now.Sub(middle).Round(time.Millisecond)
	seen := fmt.Sprintf("%v off this host's, give or take %v", off, (after.Sub(before) / 2).Round(time.Millisecond))
	advice := "set the wrong one right and keep it so (NTP)"
	if r := off.Round(30 * time.Minute); r != 0 && (off-r).Abs() < time.Minute {
		advice = "it looks as if one of the clocks held local time: set its UTC time right"
	}
	switch {
	case off.Abs() > lease.MaxClockError:
		l.Fault("clock", seen, fmt.Sprintf("more than %v: no worker id is lent; %s", lease.MaxClockError, advice))
	case off.Abs() > time.Second:
		l.Note("clock", seen, "ids carry the store's time; "+advice)
	default:
		l.OK("clock", seen)
	}
}
