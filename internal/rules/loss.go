package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// look precedes every verb. It refuses a member that may not join, and raises the pin to its
// request. It starts a quarantine if records are missing or the store is a different one.
func (ns Namespace) look(now int64, incarnation string, known lease.Pin, req lease.Request) (Namespace, lease.Pin, error) {
	reason, from := ns.loss(now, incarnation, req.Pool), ns.Meta.Pin
	if from == noPin && ns.Shape != "" && ns.Shape != shapeOf(req.Pin()) && !ns.Empty() {
		return ns, from, &lease.MismatchError{Namespace: req.Namespace, Stored: pinOf(ns.Shape, req), Asked: req.Pin()}
	}
	if reason != "" && from.Change.Falls {
		from = Kept(from, now, req)
	}
	used, most := ns.holds()
	pin, err := Joined(from, known, used, most, req)
	if err != nil {
		return ns, pin, err
	}
	if ns.Meta.reincarnated(incarnation) {
		ns.Meta.Former, ns.Meta.Incarnation = ns.Meta.Incarnation, incarnation
	}
	if ns.Meta.Pin == noPin {
		ns.Meta.Incarnation = incarnation
	}
	ns.Meta.Pin = pin
	if ns.Shape == "" {
		ns.Shape = shapeOf(pin)
	}
	if reason == "" {
		return ns, pin, nil
	}
	// Whoever has seen the same loss, and pauses, finds another quarantine.
	ns.Meta.Quarantine, ns.Meta.Reason = max(ns.Meta.Quarantine+1, QuarantineEnd(now, pin)), reason
	return ns.whole(req.Pool, pin), pin, nil
}

// loss returns the evidence that grants may have been forgotten, or "".
func (ns Namespace) loss(now int64, incarnation string, pool int64) string {
	if ns.Empty() {
		return lease.NothingOnRecord
	}
	var leases, marks int64
	if ns.Part != nil {
		leases, marks = ns.Part.Leases, ns.Part.Marks
	} else {
		for _, s := range ns.Slots[:min(pool, int64(len(ns.Slots)))] {
			if s.HasLease {
				leases++
			}
			if s.HasMark {
				marks++
			}
		}
	}
	var seen []string
	if ns.Meta.Pin == noPin {
		seen = append(seen, "the record of the namespace was missing")
	}
	if n := pool - leases; n > 0 {
		seen = append(seen, fmt.Sprintf("%d of %d slot records were missing", n, pool))
	}
	if n := pool - marks; n > 0 {
		seen = append(seen, fmt.Sprintf("%d of %d marks were missing", n, pool))
	}
	if ns.Meta.reincarnated(incarnation) {
		change := fmt.Sprintf("incarnation of the store changed from %q to %q", printable.Text(ns.Meta.Incarnation), incarnation)
		// The store is the one before the last, and the quarantine of the last change lasts.
		if incarnation == ns.Meta.Former && ns.Meta.Quarantine >= now {
			change += ", back and forth: several servers answer at one address: use the address of one of them (durable: true is only for a store that loses no acknowledged write, unlike a Galera cluster)"
		}
		seen = append(seen, change)
	}
	return strings.Join(seen, "; ")
}

// holds returns the greatest Used and the greatest Hold that the slots show.
func (ns Namespace) holds() (used, most int64) {
	if ns.Part != nil {
		return ns.Part.Used, ns.Part.Hold
	}
	for _, s := range ns.Slots {
		used, most = max(used, s.Used), max(most, s.Hold)
	}
	return used, most
}

// reincarnated reports whether the store is not the recorded one.
func (m Meta) reincarnated(incarnation string) bool {
	return incarnation != "" && m.Pin != noPin && m.Incarnation != incarnation
}

// whole returns ns with the missing records of the pool created.
func (ns Namespace) whole(pool int64, pin lease.Pin) Namespace {
	size := int64(len(ns.Slots))
	if ns.Part == nil {
		size = max(size, pool)
	} else {
		ns = ns.parted(func(p *Part) {
			if p.Hold == 0 { // nothing that is left shows it
				p.Hold, p.Least, p.Used = ms(pin.Hold()), ms(pin.Hold()), UsedHold(pin)
			}
			p.Leases, p.Marks, p.Any = pool, pool, true
		})
	}
	slots := make([]Slot, size)
	copy(slots, ns.Slots)
	written := 0 // parts of those that were lost, so that they show the pin too
	for w := range slots {
		if s := &slots[w]; *s == (Slot{}) {
			*s = s.carrying(pin)
			if ns.Part == nil && w < len(ns.Slots) && written < LostAtOnce {
				s.Token = ns.Meta.Quarantine
				written++
			}
		}
		slots[w].HasLease, slots[w].HasMark = true, true
	}
	ns.Slots = slices.Clip(slots)
	return ns
}
