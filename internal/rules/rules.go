package rules

import (
	"math"
	"slices"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// Lead returns how far ahead of the clock a range may begin. It is 0 unless a
// quarantine lasts: only then does every range begin ahead of the clock.
func Lead(quarantine, now int64, req lease.Request) int64 {
	if quarantine < now {
		return 0
	}
	return ms(req.MaxLead)
}

// Lent returns s, which is free, as it is lent for a request.
func (s Slot) Lent(quarantine, now int64, req lease.Request) Slot {
	s.Owner, s.Holder, s.Since = req.Owner, req.Holder, now
	s.Token = nextToken(now, s.Token)
	s.Floor = floorOf(s, quarantine, now)
	s.Mark = ceilingOf(s.Floor, now, req)
	s.Expires = now + ms(req.TTL)
	return s
}

// Raised returns s with another range for its holder, above a quarantine: times below it may
// have been lent and forgotten. The range ends at its floor until it is Extended.
func (s Slot) Raised(quarantine, now int64, g lease.Grant) Slot {
	s.Floor, s.Token = floorOf(s, quarantine, now), nextToken(now, max(s.Token, g.Token))
	return s
}

// Extended returns s with a later ceiling and expiry for its holder.
func (s Slot) Extended(now int64, g lease.Grant) Slot {
	s.Mark = max(s.Mark, g.Ceiling, ceilingOf(s.Floor, now, g.Request))
	s.Expires = max(s.Expires, now+ms(g.TTL))
	return s
}

// Free reports whether s can be lent: its lease has ended, and times above its mark are
// within reach.
func Free(s Slot, now, lead int64) bool { return s.Expires < now && s.Mark < now+lead }

// FreeAt returns the first millisecond at which s is free if it does not change.
func FreeAt(s Slot, lead int64) int64 { return max(s.Expires, s.Mark-lead) + 1 }

// freed returns the expiry of a released slot. The slot is free immediately, and the most
// recently used.
func freed(now int64) int64 { return now - 1 }

// floorOf returns the floor of a new range. It is above all times ever lent for the
// slot, above the quarantine, and not in the past.
func floorOf(s Slot, quarantine, now int64) int64 { return max(s.Mark, quarantine, now-1) }

// ceilingOf returns the ceiling for a floor: TTL above the clock, or above the floor if
// that is later. It never exceeds now + MaxTTL, so quarantineEnd bounds every grant.
func ceilingOf(floor, now int64, req lease.Request) int64 {
	return max(now+ms(req.TTL), min(floor+ms(req.TTL), now+ms(req.MaxTTL)))
}

// nextToken returns a token greater than last and now. Tokens ascend even if the record
// of the last one was lost.
func nextToken(now, last int64) int64 { return max(last, now) + 1 }

// holds reports whether exactly this grant is recorded for the slot.
func holds(s Slot, g lease.Grant) bool { return s.Owner == g.Owner && s.Token == g.Token }

// Unexpired reports whether the lease lasts for at least the skew of its holder. A shorter one could
// belong to a previous owner, revived by a failover.
func (s Slot) Unexpired(now int64, req lease.Request) bool { return s.Expires >= now+ms(req.Skew) }

// Spent returns the owner to record for a slot that o has released. Until the slot is leased again,
// it tells a late borrow of o that nobody waits for its grant. It holds no lease.
func Spent(o lease.Owner) lease.Owner {
	slices.Reverse(o[:])
	return o
}

// extends reports whether the record is g or newer. If g is newer, its record was lost,
// and so may be the records of later grants.
func extends(s Slot, g lease.Grant) bool { return s.Token >= g.Token }

// clamp returns the mark after a release: lastUsed, limited to the grant. The counter
// of the holder may date from an earlier grant or from none.
func clamp(lastUsed int64, g lease.Grant) int64 { return max(g.Floor, min(lastUsed, g.Ceiling)) }

// lentTo returns the slot that the owner already holds, because the first reply was
// lost. It ignores a slot whose mark was lost since: its grant cannot be repeated.
func (ns Namespace) lentTo(now int64, req lease.Request) (int64, bool) {
	for i, s := range ns.Slots {
		if s.Owner == req.Owner && s.Mark > s.Floor && s.Unexpired(now, req) {
			return ns.Worker(i), true
		}
	}
	return 0, false
}

// choice returns the free worker id that a request is lent: the least recently used, or another one
// if skip is not 0.
func (ns Namespace) choice(now int64, req lease.Request, skip uint32) (worker int64, ok bool) {
	var free []int // in ns.Slots
	lead, best := Lead(ns.Meta.Quarantine, now, req), 0
	for i, s := range ns.Slots {
		w := ns.Worker(i)
		if w < req.First || w > req.Last || !Free(s, now, lead) {
			continue
		}
		if free = append(free, i); s.Expires < ns.Slots[free[best]].Expires {
			best = len(free) - 1
		}
	}
	if len(free) == 0 {
		return 0, false
	}
	if skip > 0 {
		best = int(skip % uint32(len(free)))
	}
	return ns.Worker(free[best]), true
}

func (ns Namespace) noFreeWorker(now int64, req lease.Request) error {
	lead, soonest := Lead(ns.Meta.Quarantine, now, req), int64(math.MaxInt64)
	if ns.Part != nil && ns.Part.Soonest > 0 {
		soonest = ns.Part.Soonest
	}
	for i, s := range ns.Slots {
		if w := ns.Worker(i); w >= req.First && w <= req.Last {
			soonest = min(soonest, FreeAt(s, lead))
		}
	}
	return &lease.NoFreeWorkerError{
		Namespace: req.Namespace, First: req.First, Last: req.Last,
		Now: time.UnixMilli(now), Soonest: time.UnixMilli(soonest),
	}
}
