package rules

import (
	"time"

	"github.com/snowlease/snowlease/idworker/lease"
)

// Acquire answers lease.Center.Acquire for a valid request. incarnation is the
// store's; empty: not compared.
func (ns Namespace) Acquire(now int64, incarnation string, req lease.Request) (Namespace, lease.Grant, error) {
	if err := clockVeto(now, req); err != nil {
		return ns, lease.Grant{}, err
	}
	ns, err := ns.look(now, incarnation, req)
	if err != nil {
		return ns, lease.Grant{}, err
	}
	if ns.quarantined(now) {
		return ns, lease.Grant{}, ns.quarantineError(now, req)
	}
	worker, again := ns.lentTo(now, req)
	if !again {
		var free bool
		if worker, free = ns.leastRecentlyUsed(now, req); !free {
			return ns, lease.Grant{}, ns.noFreeWorker(now, req)
		}
		ns = ns.with(worker, func(s *Slot) {
			s.Floor = floorOf(*s, ns.Meta.Quarantine, now)
			s.Mark = now + ms(req.TTL)
			s.Expires = now + ms(req.TTL)
			s.Owner, s.Holder, s.Since = req.Owner, req.Holder, now
			s.Token = nextToken(now, s.Token)
		})
	}
	s := ns.Slots[worker]
	return ns, lease.Grant{Request: req, Worker: worker, Token: s.Token, Now: now, Floor: s.Floor, Ceiling: s.Mark, Since: s.Since}, nil
}

// Renew answers lease.Center.Renew for a grant of a valid request.
func (ns Namespace) Renew(now int64, incarnation string, g lease.Grant) (Namespace, lease.Grant, error) {
	ns, err := ns.look(now, incarnation, g.Request)
	if err != nil {
		return ns, lease.Grant{}, err
	}
	switch s := ns.Slots[g.Worker]; {
	case holds(s, g) && unexpired(s, now, g):
	case ns.quarantined(now) && retook(s, g) && unexpired(s, now, g):
		g.Token = s.Token
	case !ns.quarantined(now) || !ahead(now, ns.Meta.Quarantine, g):
		return ns, lease.Grant{}, lease.ErrLost
	case !retakeable(s, now) && (s.Owner != [16]byte{} || !lentSince(s, ns.Meta.Quarantine)):
		return ns, lease.Grant{}, ns.quarantineError(now, g.Request)
	case lentSince(s, ns.Meta.Quarantine):
		return ns, lease.Grant{}, lease.ErrLost
	default:
		g.Token = nextToken(now, max(s.Token, g.Token))
	}
	ns = ns.with(g.Worker, func(s *Slot) {
		s.Owner, s.Holder, s.Token, s.Since, s.Floor = g.Owner, g.Holder, g.Token, g.Since, g.Floor
		s.Mark = raisedMark(*s, now, g)
		s.Expires = max(s.Expires, now+ms(g.TTL))
		g.Ceiling = s.Mark
	})
	g.Now = now
	return ns, g, nil
}

// Release answers lease.Center.Release for a grant of a valid request.
func (ns Namespace) Release(now int64, incarnation string, g lease.Grant, lastUsed int64) (Namespace, error) {
	ns, err := ns.look(now, incarnation, g.Request)
	if err != nil {
		return ns, err
	}
	if !holds(ns.Slots[g.Worker], g) {
		return ns, lease.ErrLost
	}
	return ns.with(g.Worker, func(s *Slot) {
		*s = Slot{HasLease: true, HasMark: true, Token: s.Token, Expires: freed(now), Mark: clamp(lastUsed, g)}
	}), nil
}

// Init answers lease.Initializer.Init for a valid request.
func (ns Namespace) Init(incarnation string, req lease.Request) (Namespace, error) {
	if !ns.Empty() {
		return ns, lease.ErrExists
	}
	ns = Namespace{Meta: Meta{Pin: req.Pin(), Incarnation: incarnation}}
	return ns.whole(req.Pool), nil
}

// List answers lease.Lister.Slots.
func (ns Namespace) List(now int64) []lease.Slot {
	list := make([]lease.Slot, len(ns.Slots))
	for w, s := range ns.Slots {
		list[w] = lease.Slot{Worker: int64(w), Token: s.Token, Holder: s.Holder, Since: s.Since, Expires: s.Expires, Mark: s.Mark, Now: now}
	}
	return list
}

// ms is d in milliseconds.
func ms(d time.Duration) int64 { return d.Milliseconds() }
