package rules

import (
	"time"

	"github.com/snowlease/snowlease/lease"
)

// clockVeto refuses a borrower whose clock and the center's are too far apart: a
// center that is far ahead would poison the marks.
func clockVeto(now int64, req lease.Request) error {
	if req.Local == 0 || max(now-req.Local, req.Local-now) <= ms(lease.MaxClockError) {
		return nil
	}
	return &lease.ClockError{Namespace: req.Namespace, Center: time.UnixMilli(now), Local: time.UnixMilli(req.Local)}
}

// lead is how far ahead of the clock a range may begin: not at all but where all
// ranges do, since the clock has not passed what may have been forgotten.
func (ns Namespace) lead(now int64, req lease.Request) int64 {
	if ns.Meta.Quarantine < now {
		return 0
	}
	return ms(req.Ahead)
}

// free: nobody's lease of the slot runs, and what lies above its mark may be lent.
func free(s Slot, now, lead int64) bool { return s.Expires < now && s.Mark < now+lead }

// freeAt is the first millisecond at which s is free if nobody touches it.
func freeAt(s Slot, lead int64) int64 { return max(s.Expires, s.Mark-lead) + 1 }

// freed is the expiry of a slot that is given back: free at once, used last.
func freed(now int64) int64 { return now - 1 }

// floorOf is the floor of a new range: above all that was ever lent of the slot,
// above what was lost, and not in the past.
func floorOf(s Slot, quarantine, now int64) int64 { return max(s.Mark, quarantine, now-1) }

// ceilingOf is the ceiling above a floor: TTL from now, or from a floor that lies
// ahead. It is never above now + MaxTTL, which is what bounds a quarantine.
func ceilingOf(floor, now int64, req lease.Request) int64 {
	return max(now+ms(req.TTL), min(floor+ms(req.TTL), now+ms(req.MaxTTL)))
}

// nextToken rises with every grant, also where the record of the last was lost.
func nextToken(now, last int64) int64 { return max(last, now) + 1 }

// holds: the slot is on record as lent by just this grant.
func holds(s Slot, g lease.Grant) bool { return s.Owner == g.Owner && s.Token == g.Token }

// unexpired: the lease runs for the skew at least. Less could be a former owner's
// that a failover revived.
func unexpired(s Slot, now int64, req lease.Request) bool { return s.Expires >= now+ms(req.Skew) }

// extends: g is what is on record, or older. A newer one is forgotten, so this is not
// the last that was lent.
func extends(s Slot, g lease.Grant) bool { return s.Token >= g.Token }

// clamp is the mark after a release: what was used, held within the grant, since
// the holder's counter may come from an earlier grant or from none.
func clamp(lastUsed int64, g lease.Grant) int64 { return max(g.Floor, min(lastUsed, g.Ceiling)) }

// lentTo is the slot that the owner already holds: its first reply was lost. Where the
// mark was lost since, there is nothing to repeat.
func (ns Namespace) lentTo(now int64, req lease.Request) (int64, bool) {
	for w, s := range ns.Slots {
		if s.Owner == req.Owner && s.Mark > s.Floor && unexpired(s, now, req) {
			return int64(w), true
		}
	}
	return 0, false
}

// leastRecentlyUsed is the free slot of the range that was used longest ago.
func (ns Namespace) leastRecentlyUsed(now int64, req lease.Request) (int64, bool) {
	best, lead := int64(-1), ns.lead(now, req)
	for w := req.First; w <= req.Last; w++ {
		if s := ns.Slots[w]; free(s, now, lead) && (best < 0 || s.Expires < ns.Slots[best].Expires) {
			best = w
		}
	}
	return best, best >= 0
}

// noFreeWorker says when the first slot of the range is free.
func (ns Namespace) noFreeWorker(now int64, req lease.Request) error {
	lead := ns.lead(now, req)
	soonest := freeAt(ns.Slots[req.First], lead)
	for _, s := range ns.Slots[req.First : req.Last+1] {
		soonest = min(soonest, freeAt(s, lead))
	}
	return &lease.NoFreeWorkerError{
		Namespace: req.Namespace, First: req.First, Last: req.Last,
		Now: time.UnixMilli(now), Soonest: time.UnixMilli(soonest),
	}
}
