package rules

import (
	"time"

	"github.com/snowlease/snowlease/idworker/lease"
)

// clockVeto refuses a borrower whose clock and the centre's are too far apart: a
// centre that is far ahead would poison the marks.
func clockVeto(now int64, req lease.Request) error {
	if req.Local == 0 || max(now-req.Local, req.Local-now) <= ms(lease.MaxClockError) {
		return nil
	}
	return &lease.ClockError{Namespace: req.Namespace, Center: time.UnixMilli(now), Local: time.UnixMilli(req.Local)}
}

// free: nobody holds the slot, and no id of it can lie at or above now.
func free(s Slot, now int64) bool { return s.Expires < now && s.Mark < now }

// freeAt is the first millisecond at which s is free if nobody touches it.
func freeAt(s Slot) int64 { return max(s.Expires, s.Mark) + 1 }

// freed is the expiry of a slot that is given back: free at once, used last.
func freed(now int64) int64 { return now - 1 }

// floorOf is the floor of a new grant: above all that was ever lent of the slot,
// above what was lost, and not in the past.
func floorOf(s Slot, quarantine, now int64) int64 { return max(s.Mark, quarantine, now-1) }

// nextToken rises with every grant, also where the record of the last was lost.
func nextToken(now, last int64) int64 { return max(last, now) + 1 }

// holds: the slot is on record as lent by just this grant.
func holds(s Slot, g lease.Grant) bool { return s.Owner == g.Owner && s.Token == g.Token }

// retook: the slot is on record as taken anew by the grant's own holder, whom the
// reply did not reach. A re-take keeps the floor; another borrow of the same owner,
// by a late copy of its request, does not.
func retook(s Slot, g lease.Grant) bool {
	return s.Owner == g.Owner && s.Token > g.Token && s.Floor == g.Floor
}

// unexpired: the lease runs for the skew at least. Less could be a former owner's
// that a failover revived.
func unexpired(s Slot, now int64, g lease.Grant) bool { return s.Expires >= now+ms(g.Skew) }

// ahead: the holder's own range has not passed. At most one grant of a worker id
// has such a ceiling, for the next is lent only when the mark has passed.
// It has had one since the quarantine began, wherever the clock has stepped since.
func ahead(now, quarantine int64, g lease.Grant) bool {
	now = max(now, quarantine-ms(g.MaxTTL)-ms(g.Skew))
	return g.Ceiling > now+ms(g.Skew)
}

// lentSince: the slot was lent after the quarantine had ended, which a clock that has
// stepped back since makes look like one that lasts. What is lent then lies above it.
func lentSince(s Slot, quarantine int64) bool { return s.Mark > quarantine }

// retakeable: nobody's lease of the slot runs.
func retakeable(s Slot, now int64) bool { return s.Expires < now }

// raisedMark is the mark after a renewal: never lower, and a store that lost a
// renewal learns it again from the holder.
func raisedMark(s Slot, now int64, g lease.Grant) int64 {
	return max(s.Mark, g.Ceiling, now+ms(g.TTL))
}

// clamp is the mark after a release: what was used, held within the grant, since
// the holder's counter may come from an earlier grant or from none.
func clamp(lastUsed int64, g lease.Grant) int64 { return max(g.Floor, min(lastUsed, g.Ceiling)) }

// lentTo is the slot that the owner already holds: its first reply was lost.
func (ns Namespace) lentTo(now int64, req lease.Request) (int64, bool) {
	for w, s := range ns.Slots {
		if s.Owner == req.Owner && unexpired(s, now, lease.Grant{Request: req}) {
			return int64(w), true
		}
	}
	return 0, false
}

// leastRecentlyUsed is the free slot of the range that was used longest ago.
func (ns Namespace) leastRecentlyUsed(now int64, req lease.Request) (int64, bool) {
	best := int64(-1)
	for w := req.First; w <= req.Last; w++ {
		if s := ns.Slots[w]; free(s, now) && (best < 0 || s.Expires < ns.Slots[best].Expires) {
			best = w
		}
	}
	return best, best >= 0
}

// noFreeWorker says when the first slot of the range is free.
func (ns Namespace) noFreeWorker(now int64, req lease.Request) error {
	soonest := freeAt(ns.Slots[req.First])
	for _, s := range ns.Slots[req.First : req.Last+1] {
		soonest = min(soonest, freeAt(s))
	}
	return &lease.NoFreeWorkerError{
		Namespace: req.Namespace, First: req.First, Last: req.Last,
		Now: time.UnixMilli(now), Soonest: time.UnixMilli(soonest),
	}
}
