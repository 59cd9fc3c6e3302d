package rules

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// look precedes every verb. It refuses a member whose configuration differs from the
// pin. It starts a quarantine if records are missing or the store is a different one.
func (ns Namespace) look(now int64, incarnation string, req lease.Request) (Namespace, error) {
	if err := ns.mismatch(req); err != nil {
		return ns, err
	}
	reason := ns.loss(now, incarnation, req.Pool)
	if reason == "" {
		return ns, nil
	}
	if ns.reincarnated(incarnation) {
		ns.Meta.Former, ns.Meta.Incarnation = ns.Meta.Incarnation, incarnation
	}
	if ns.Meta.Pin == "" {
		ns.Meta.Pin, ns.Meta.Incarnation = req.Pin().String(), incarnation
	}
	ns.Meta.Quarantine, ns.Meta.Reason = max(ns.Meta.Quarantine, quarantineEnd(now, req)), reason
	return ns.whole(req.Pool), nil
}

// mismatch refuses a member that would generate different ids, or rely on a shorter
// quarantine.
func (ns Namespace) mismatch(req lease.Request) error {
	if ns.Meta.Pin == "" || ns.Meta.Pin == req.Pin().String() {
		return nil
	}
	return &lease.MismatchError{Namespace: req.Namespace, Stored: lease.ParsePin(ns.Meta.Pin), Asked: req.Pin()}
}

// loss returns the evidence that grants may have been forgotten, or "".
func (ns Namespace) loss(now int64, incarnation string, pool int64) string {
	if ns.Empty() {
		return lease.NothingOnRecord
	}
	var seen []string
	if ns.Meta.Pin == "" {
		seen = append(seen, "the record of the namespace was missing")
	}
	if n := ns.missing(pool, func(s Slot) bool { return s.HasLease }); n > 0 {
		seen = append(seen, fmt.Sprintf("%d of %d slot records were missing", n, pool))
	}
	if n := ns.missing(pool, func(s Slot) bool { return s.HasMark }); n > 0 {
		seen = append(seen, fmt.Sprintf("%d of %d marks were missing", n, pool))
	}
	if ns.reincarnated(incarnation) {
		change := fmt.Sprintf("incarnation of the store changed from %q to %q", printable.Text(ns.Meta.Incarnation), incarnation)
		if ns.flips(now, incarnation) {
			change += ", back and forth: several servers answer for it; if it loses no write, set quarantine: never"
		}
		seen = append(seen, change)
	}
	return strings.Join(seen, "; ")
}

func (ns Namespace) missing(pool int64, has func(Slot) bool) int64 {
	n := pool
	for _, s := range ns.Slots[:min(pool, int64(len(ns.Slots)))] {
		if has(s) {
			n--
		}
	}
	return n
}

// reincarnated reports whether the store is not the one on record.
func (ns Namespace) reincarnated(incarnation string) bool {
	return incarnation != "" && ns.Meta.Pin != "" && ns.Meta.Incarnation != incarnation
}

// flips reports whether the store is the one before the last and the quarantine of the
// last change still lasts.
func (ns Namespace) flips(now int64, incarnation string) bool {
	return incarnation == ns.Meta.Former && ns.Meta.Quarantine >= now
}

// quarantineEnd returns a time that no forgotten grant of the same pin exceeds, whatever its
// TTL was.
func quarantineEnd(now int64, req lease.Request) int64 { return now + ms(req.MaxTTL) + ms(req.Skew) }

// quarantined refuses a floor that a quarantine has put too far ahead of the clock.
func (ns Namespace) quarantined(now, floor int64, req lease.Request) error {
	if floor < now+ms(req.Ahead) {
		return nil
	}
	return &lease.QuarantineError{
		Namespace: req.Namespace, Reason: ns.Meta.Reason,
		Now: time.UnixMilli(now), Until: time.UnixMilli(floor - ms(req.Ahead) + 1),
	}
}

// whole returns ns with the missing records of the pool created.
func (ns Namespace) whole(pool int64) Namespace {
	slots := make([]Slot, max(pool, int64(len(ns.Slots))))
	copy(slots, ns.Slots)
	for w := range slots {
		slots[w].HasLease, slots[w].HasMark = true, true
	}
	ns.Slots = slices.Clip(slots)
	return ns
}
