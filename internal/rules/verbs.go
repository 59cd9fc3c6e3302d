package rules

import (
	"slices"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// Acquire implements lease.Center.Acquire for a valid request. incarnation identifies
// the store; the empty string is not compared.
func (ns Namespace) Acquire(now int64, incarnation string, req lease.Request) (Namespace, lease.Grant, error) {
	return ns.AcquireBeside(now, incarnation, req, 0)
}

// AcquireBeside is Acquire after another caller was lent what this one would have been. skip says
// which of the free worker ids to take instead of the least recently used one.
func (ns Namespace) AcquireBeside(now int64, incarnation string, req lease.Request, skip uint32) (Namespace, lease.Grant, error) {
	before := ns.Meta
	if err := ClockVeto(now, req); err != nil {
		return ns, lease.Grant{}, err
	}
	ns, pin, err := ns.look(now, incarnation, lease.Pin{}, req)
	if err != nil {
		return ns, lease.Grant{}, err
	}
	by := By(pin, req)
	if err := Quarantined(ns.Meta.Reason, ns.Meta.Quarantine, now, pin, req); err != nil {
		return ns.waits(now, before, pin, by, err, func(ns Namespace) (Namespace, lease.Grant, error) {
			return ns.AcquireBeside(now, incarnation, req, skip)
		})
	}
	if slices.ContainsFunc(ns.Slots, func(s Slot) bool { return s.Owner == Spent(req.Owner) }) {
		return ns, lease.Grant{}, lease.ErrLost
	}
	worker, again := ns.lentTo(now, by)
	if g := ns.granted(worker, now, req, pin); again && g.Floor < ns.Meta.Quarantine {
		// The write of the earlier call may have reached another server than its read, which had forgotten
		// a grant of the same times.
		return ns.Renew(now, incarnation, g)
	}
	if !again {
		var free bool
		if worker, free = ns.choice(now, by, skip); !free {
			return ns, lease.Grant{}, ns.noFreeWorker(now, by)
		}
		ns = ns.with(worker, func(s *Slot) { *s = s.Lent(ns.Meta.Quarantine, now, by) })
	}
	g := ns.granted(worker, now, req, pin)
	g.Pinned = Proposed(pin, g)
	ns.Meta.Pin = g.Pinned
	return ns.carrying(worker, pin), g, nil
}

// Renew implements lease.Center.Renew for a grant of a valid request.
func (ns Namespace) Renew(now int64, incarnation string, g lease.Grant) (Namespace, lease.Grant, error) {
	before := ns.Meta
	ns, pin, err := ns.look(now, incarnation, g.Pinned, g.Request)
	if err != nil {
		return ns, lease.Grant{}, err
	}
	if ns.Meta == before { // after a loss, what the pin allowed for counts
		ns, pin = ns.advanced(now, g.Request)
	}
	by := g
	by.Request = By(pin, g.Request)
	s := ns.Slot(g.Worker)
	if s.Owner != g.Owner || !s.Unexpired(now, Held(g, pin)) {
		return ns, lease.Grant{}, lease.ErrLost
	}
	if s.Floor < ns.Meta.Quarantine {
		s = s.Raised(ns.Meta.Quarantine, now, g)
		if err := Quarantined(ns.Meta.Reason, s.Floor, now, pin, g.Request); err != nil {
			return ns.waits(now, Meta{}, pin, by.Request, err, func(ns Namespace) (Namespace, lease.Grant, error) { return ns.Renew(now, incarnation, g) })
		}
	} else if !extends(s, g) {
		return ns, lease.Grant{}, lease.ErrLost
	}
	ns = ns.with(g.Worker, func(to *Slot) { *to = s.Extended(now, by) })
	return ns.carrying(g.Worker, pin), ns.granted(g.Worker, now, g.Request, pin), nil
}

// waits answers a request that has to wait, again if more may be lent: the pin does not fall to values that
// a quarantine ends too far ahead for. Without a loss it advances: nobody may be left who renews.
func (ns Namespace) waits(now int64, before Meta, pin lease.Pin, req lease.Request, err error, again func(Namespace) (Namespace, lease.Grant, error)) (Namespace, lease.Grant, error) {
	switch {
	case pin.Change.Falls:
		ns.Meta.Pin = Kept(pin, now, req)
	case ns.Meta == before:
		ns, _ = ns.advanced(now, req)
	}
	if ns.Meta.Pin.Used() == pin.Used() {
		return ns, lease.Grant{}, err
	}
	return again(ns)
}

// atOnce is how many slots carry a raise after one call, because a store may change so many in
// one step.
const atOnce = 50

// LostAtOnce is how many lost parts one call creates; it leaves room for the others that it changes.
const LostAtOnce = atOnce - 10

// advanced returns ns with its pin Advanced, once all slots carry what that needs: now was read before
// they do. While ranges begin ahead of the clock, nothing falls.
func (ns Namespace) advanced(now int64, req lease.Request) (Namespace, lease.Pin) {
	pin := ns.Meta.Pin
	if pin.Change.Falls && ns.Meta.Quarantine > now {
		ns.Meta.Pin = Kept(pin, now, req)
		return ns, ns.Meta.Pin
	}
	if Carries(pin, now) {
		if carrying, all := ns.carried(pin); !all {
			return carrying, pin
		}
	}
	ns.Meta.Pin = Advanced(pin, now)
	if ns.Meta.Pin.Change == (lease.PinChange{}) {
		ns, _ = ns.carried(ns.Meta.Pin)
	}
	return ns, ns.Meta.Pin
}

// carried returns ns with some more slots that carry a pin. It reports whether all did before.
func (ns Namespace) carried(pin lease.Pin) (Namespace, bool) {
	if p := ns.Part; p != nil {
		hold, used := ms(pin.Hold()), UsedHold(pin)
		if p.Hold == hold && p.Least == hold && p.Used == used {
			return ns, true
		}
		return ns.parted(func(p *Part) { p.Hold, p.Least, p.Used = hold, hold, used }), false
	}
	n := 0
	for w := 0; w < len(ns.Slots) && n < atOnce; w++ {
		if s := ns.Slots[w]; s != s.carrying(pin) {
			ns = ns.carrying(int64(w), pin)
			n++
		}
	}
	return ns, n == 0
}

// carrying returns ns with a slot that carries a pin.
func (ns Namespace) carrying(worker int64, pin lease.Pin) Namespace {
	return ns.with(worker, func(s *Slot) { *s = s.carrying(pin) })
}

// carrying returns s as it is written under a pin.
func (s Slot) carrying(pin lease.Pin) Slot {
	s.Hold, s.Used = ms(pin.Hold()), UsedHold(pin)
	return s
}

// RenewAlone is Renew by a center that reads no records of other worker ids while the
// record of the namespace and g's own are in order, as dbseq does. It then leaves a loss
// elsewhere to the next borrower, or to the holder that the loss concerns.
func (ns Namespace) RenewAlone(now int64, incarnation string, g lease.Grant) (Namespace, lease.Grant, error) {
	if !ns.InOrder(now, incarnation, g) {
		return ns.Renew(now, incarnation, g)
	}
	by := By(ns.Meta.Pin, g.Request)
	g.Now, g.Ceiling, g.Pinned = now, max(g.Ceiling, ceilingOf(g.Floor, now, by)), ns.Meta.Pin
	return ns.with(g.Worker, func(s *Slot) {
		s.Mark, s.Expires = max(s.Mark, g.Ceiling), max(s.Expires, now+ms(by.TTL))
	}), g, nil
}

// InOrder reports whether RenewAlone extends g without a look at other records.
func (ns Namespace) InOrder(now int64, incarnation string, g lease.Grant) bool {
	pin, err := Joined(ns.Meta.Pin, lease.Pin{}, 0, 0, g.Request)
	if err != nil || pin != ns.Meta.Pin || pin.Change != (lease.PinChange{}) || ns.Meta.reincarnated(incarnation) || g.Floor < ns.Meta.Quarantine {
		return false
	}
	s := ns.Slot(g.Worker)
	return s.HasMark && holds(s, g) && s.Floor == g.Floor && s.Unexpired(now, Held(g, pin))
}

func (ns Namespace) granted(worker, now int64, req lease.Request, pin lease.Pin) lease.Grant {
	s := ns.Slot(worker)
	return lease.Grant{Request: req, Worker: worker, Token: s.Token, Now: now, Floor: s.Floor, Ceiling: s.Mark, Since: s.Since, Pinned: pin}
}

// Release implements lease.Center.Release for a grant of a valid request.
func (ns Namespace) Release(now int64, incarnation string, g lease.Grant, lastUsed int64) (Namespace, error) {
	known := g.Pinned
	if ns.Meta.Pin != noPin && g.Ceiling < now {
		known = noPin // g needs nothing any more, and what it needed may have fallen since
	}
	ns, _, err := ns.look(now, incarnation, known, g.Request)
	if err != nil {
		return ns, err
	}
	if !holds(ns.Slot(g.Worker), g) {
		return ns, lease.ErrLost
	}
	return ns.with(g.Worker, func(s *Slot) {
		*s = Slot{HasLease: true, HasMark: true, Owner: Spent(g.Owner), Token: s.Token, Expires: freed(now), Mark: clamp(lastUsed, g), Hold: s.Hold, Used: s.Used}
	}), nil
}

// Init implements lease.Extras.Init for a valid request.
func (ns Namespace) Init(incarnation string, req lease.Request) (Namespace, error) {
	if !ns.Empty() || ns.Meta.Reason != "" {
		return ns, lease.ErrExists
	}
	ns.Meta, ns.Shape, ns.Slots = Meta{Pin: req.Pin(), Incarnation: incarnation}, shapeOf(req.Pin()), nil
	if ns.Part != nil {
		ns = ns.parted(func(p *Part) { p.Workers = nil })
	}
	return ns.whole(req.Pool, req.Pin()), nil
}

// List implements lease.Lister.Slots.
func (ns Namespace) List(now int64) []lease.Slot {
	list := make([]lease.Slot, len(ns.Slots))
	for i, s := range ns.Slots {
		list[i] = lease.Slot{Worker: ns.Worker(i), Token: s.Token, Holder: s.Holder, Since: s.Since, Expires: s.Expires, HighWater: s.Mark, Now: now}
	}
	return list
}

func ms(d time.Duration) int64 { return d.Milliseconds() }
