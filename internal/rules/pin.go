package rules

import (
	"cmp"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// Joined returns the pin of a namespace once a member has joined it. stored is the recorded pin, or
// zero if there is none. Then used and most are the greatest Slot.Used and Slot.Hold that are left.
// known is the pin that was recorded when the member got its grant, if it has one: if the recorded pin
// allows for less now, others have opened the namespace again, and their quarantine need not cover the
// grant.
func Joined(stored, known lease.Pin, used, most int64, req lease.Request) (lease.Pin, error) {
	before, ok := known.Join(req)
	joined := ok && before == known
	if from := req.Pin(); stored == noPin {
		if joined {
			from = known
		}
		stored = holding(from, used, most, req)
	}
	pin, ok := stored.Join(req)
	if c := stored.Change; !c.Falls && c.MaxTTL > 0 && pin.Skew > stored.Skew {
		// No grant goes by the new MaxTTL yet, and whoever needs it asks again. So the skew is taken
		// from it, and what slots show does not grow by being read back.
		pin.MaxTTL = max(stored.Hold()-pin.Skew, c.MaxTTL, req.MaxTTL)
	}
	needed := known
	if known.Change != (lease.PinChange{}) { // the grant keeps to the lower values
		needed.MaxTTL, needed.Skew = known.Change.MaxTTL, known.Change.Skew
	}
	if !ok || joined && stored.Hold() < needed.Hold() {
		asked := req.Pin()
		asked.MaxTTL, asked.Skew = max(asked.MaxTTL, needed.MaxTTL), max(asked.Skew, needed.Skew)
		return pin, &lease.MismatchError{Namespace: req.Namespace, Stored: stored, Asked: asked}
	}
	return pin, nil
}

// holding returns p with a Hold of at least most milliseconds, if any slot is left that shows it. If p
// or what slots show as used is less, p is raised from that: a replica from before may have no more on
// record.
func holding(p lease.Pin, used, most int64, req lease.Request) lease.Pin {
	const longest = 24 * time.Hour // of MaxTTL
	inUse, shown := time.Duration(used)*time.Millisecond, time.Duration(most)*time.Millisecond
	if shown == 0 || shown == p.Hold() && inUse == shown {
		return p
	}
	req.MaxTTL, req.Skew = p.MaxTTL, p.Skew
	if shown > p.Hold() {
		req.MaxTTL = min(shown-p.Skew, longest)
		req.Skew = shown - req.MaxTTL
	}
	if p.Change != (lease.PinChange{}) {
		p.MaxTTL, p.Skew = p.Change.MaxTTL, p.Change.Skew
	}
	p.MaxTTL, p.Change = min(p.MaxTTL, inUse-p.Skew), lease.PinChange{}
	if p.MaxTTL <= 0 {
		p.MaxTTL = lease.MinTTL
	}
	p, _ = p.Join(req)
	return p
}

// Proposed returns the pin after a borrow: it begins to fall if the new member needs less. Only
// members with greater values can say that they still need more, and do so with their next call.
// While ranges begin ahead of the clock, they may reach as far ahead as before.
func Proposed(pin lease.Pin, g lease.Grant) lease.Pin {
	if pin.Change == (lease.PinChange{}) && g.Floor <= g.Now {
		if pin.Skew > g.Skew { // it falls first: leases are longer for its sake
			g.MaxTTL = pin.MaxTTL
		}
		pin.Change.Falls = true
		pin, _ = pin.Join(g.Request) // from falling below the values of g
	}
	return pin
}

// UsedHold returns the part of a pin's Hold that grants keep to, in milliseconds.
func UsedHold(pin lease.Pin) int64 {
	if c := pin.Change; c != (lease.PinChange{}) {
		return ms(c.MaxTTL + c.Skew)
	}
	return ms(pin.Hold())
}

// Carries reports whether each slot has to carry a pin before it is Advanced at now. The end of a change
// is decided once all of them show what a loss has to allow for, and that no more is used than what the
// pin falls to: a replica that lacks the fall may lose the rest. The change ends if they still do, since a
// write by an earlier pin may have been delayed.
func Carries(pin lease.Pin, now int64) bool {
	return pin.Change != (lease.PinChange{}) && now >= pin.Change.At
}

// Kept returns a pin that does not fall because of a loss. If it may have fallen on a server that has more
// on record, by a clock that differs from now by no more than the skew, it is raised again from the lower
// values: that server may come back.
func Kept(pin lease.Pin, now int64, req lease.Request) lease.Pin {
	c := pin.Change
	pin.Change = lease.PinChange{}
	if c.At > 0 && now >= c.At-ms(pin.Skew) {
		req.MaxTTL, req.Skew = pin.MaxTTL, pin.Skew
		pin.MaxTTL, pin.Skew = c.MaxTTL, c.Skew
		pin, _ = pin.Join(req)
	}
	return pin
}

// Advanced returns the pin as it is at now, a time of the center's clock after the pin was recorded and,
// if it Carries, after each slot that was ever leased carried it.
func Advanced(pin lease.Pin, now int64) lease.Pin {
	c := pin.Change
	switch {
	case c == lease.PinChange{}:
	case c.At <= 0 && c.Falls:
		pin.Change.At = now + ms(pin.Hold())
	case c.At <= 0:
		pin.Change.At = now + ms(c.MaxTTL+c.Skew)
	case now >= c.At:
		if pin.Change = (lease.PinChange{}); c.Falls {
			pin.MaxTTL, pin.Skew = c.MaxTTL, c.Skew
		}
	}
	return pin
}

// By returns a request as it is answered under a pin: the member's grants keep to the MaxTTL of the
// pin, so that they can begin above a quarantine, and are not longer than a new pin allows for. After a
// loss, a holder waits for the pin's skew: its grants are longer by what its own lacks of that.
func By(pin lease.Pin, req lease.Request) lease.Request {
	used := pin.Used()
	req.TTL += max(0, pin.Skew-req.Skew)
	if req.MaxLead > 0 {
		req.MaxLead = max(0, used-(req.MaxTTL-req.MaxLead))
	}
	if req.MaxTTL = used; req.TTL > used {
		// A keeper renews when half of the TTL is left, which the skew must not exceed.
		req.TTL, req.Skew = used, min(req.Skew, used/3)
	}
	return req
}

// Held returns the request of a grant as it was answered: Unexpired goes by its skew.
func Held(g lease.Grant, pin lease.Pin) lease.Request {
	return By(cmp.Or(g.Pinned, pin), g.Request)
}
