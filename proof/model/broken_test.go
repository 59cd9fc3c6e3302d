package model

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A breach breaks the rules in one place, from outside: it changes what they see, or what
// they answer.
type breach func(verbs) verbs

func inAcquire(f acquirer) breach { return func(v verbs) verbs { v.acquire = f; return v } }
func inRenew(f renewer) breach    { return func(v verbs) verbs { v.renew = f; return v } }
func inRelease(f releaser) breach { return func(v verbs) verbs { v.release = f; return v } }

// change returns ns with one slot changed.
func change(ns rules.Namespace, w int64, f func(*rules.Slot)) rules.Namespace {
	ns.Slots = append([]rules.Slot(nil), ns.Slots...)
	f(&ns.Slots[w])
	return ns
}

// looked returns ns after the look that precedes every verb, made by a verb that
// changes nothing else.
func looked(ns rules.Namespace, now int64, incarnation string, req lease.Request) rules.Namespace {
	req.Owner = [16]byte{0xff}
	ns, err := ns.Release(now, incarnation, lease.Grant{Request: req}, 0)
	if !errors.Is(err, lease.ErrLost) {
		panic(err)
	}
	return ns
}

// asIf calls f with times in the request that differ from the pinned ones.
func asIf(ns rules.Namespace, req *lease.Request, times func(*lease.Request), f func(rules.Namespace) rules.Namespace) rules.Namespace {
	pin, was := ns.Meta.Pin, *req
	if pin == (lease.Pin{}) {
		pin = req.Pin()
	}
	times(req)
	req.TTL = min(req.TTL, req.MaxTTL)
	if ns.Meta.Pin != (lease.Pin{}) {
		ns.Meta.Pin = req.Pin()
	}
	ns = f(ns)
	if ns.Meta.Pin != (lease.Pin{}) {
		ns.Meta.Pin, _ = pin.Join(was)
	}
	req.TTL, req.MaxTTL, req.Skew = was.TTL, was.MaxTTL, was.Skew
	return ns
}

var noCeiling = inAcquire(func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
	ns, g, err := ns.Acquire(now, inc, req)
	if err == nil {
		g.Ceiling = horizon.ms()
	}
	return ns, g, err
})

var noFloor = inAcquire(func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
	for w := range ns.Slots {
		if s := ns.Slots[w]; s.Expires < now && s.Mark != 0 {
			ns = change(ns, int64(w), func(s *rules.Slot) { s.Mark = 0 })
		}
	}
	return ns.Acquire(now, inc, req)
})

var stealLeast = inAcquire(func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
	free, g, err := ns.Acquire(now, inc, req)
	if errors.As(err, new(*lease.NoFreeWorkerError)) {
		return change(free, 0, func(s *rules.Slot) { s.Expires, s.Mark = 0, 0 }).Acquire(now, inc, req)
	}
	return free, g, err
})

var unfencedRenew = inRenew(func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
	asked := g
	if s := ns.Slots[g.Worker]; s.Owner != [16]byte{} {
		g.Owner, g.Token = s.Owner, s.Token
	}
	ns, renewed, err := ns.Renew(now, inc, g)
	renewed.Request, renewed.Token = asked.Request, asked.Token
	return ns, renewed, err
})

var unfencedRelease = inRelease(func(ns rules.Namespace, now int64, inc string, g lease.Grant, lastUsed int64) (rules.Namespace, error) {
	s := ns.Slots[g.Worker]
	g.Owner, g.Token = s.Owner, s.Token
	return ns.Release(now, inc, g, lastUsed)
})

var noClamp = inRelease(func(ns rules.Namespace, now int64, inc string, g lease.Grant, lastUsed int64) (rules.Namespace, error) {
	ns, err := ns.Release(now, inc, g, lastUsed)
	if err == nil {
		ns = change(ns, g.Worker, func(s *rules.Slot) { s.Mark = lastUsed })
	}
	return ns, err
})

var noQuarantine = inAcquire(func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
	ns = looked(ns, now, inc, req)
	ns.Meta.Quarantine = 0
	return ns.Acquire(now, inc, req)
})

// atTheClock lends from the clock on, ignoring what may have been forgotten above it.
var atTheClock = inAcquire(func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
	ns = looked(ns, now, inc, req)
	was := ns.Meta.Quarantine
	ns.Meta.Quarantine = 0
	ns, g, err := ns.Acquire(now, inc, req)
	ns.Meta.Quarantine = was
	return ns, g, err
})

// around changes the records before and after each verb.
func around(before func(rules.Namespace, int64, string, lease.Request) rules.Namespace, after func(*rules.Namespace)) breach {
	changed := func(ns rules.Namespace) rules.Namespace {
		ns.Slots = slices.Clone(ns.Slots)
		after(&ns)
		return ns
	}
	return func(v verbs) verbs {
		return verbs{
			func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
				ns, g, err := v.acquire(before(ns, now, inc, req), now, inc, req)
				return changed(ns), g, err
			},
			func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
				ns, g, err := v.renew(before(ns, now, inc, g.Request), now, inc, g)
				return changed(ns), g, err
			},
			func(ns rules.Namespace, now int64, inc string, g lease.Grant, lastUsed int64) (rules.Namespace, error) {
				ns, err := v.release(before(ns, now, inc, g.Request), now, inc, g, lastUsed)
				return changed(ns), err
			},
		}
	}
}

// quarantineOf has a quarantine last as by a pin with other times.
func quarantineOf(times func(*lease.Request)) breach {
	return around(func(ns rules.Namespace, now int64, inc string, req lease.Request) rules.Namespace {
		return asIf(ns, &req, times, func(ns rules.Namespace) rules.Namespace { return looked(ns, now, inc, req) })
	}, func(*rules.Namespace) {})
}

// after changes the records after each verb.
func after(change func(*rules.Namespace)) breach {
	return around(func(ns rules.Namespace, _ int64, _ string, _ lease.Request) rules.Namespace { return ns }, change)
}

// usedByALoss lets a loss use a raise, so that nobody waits for it.
func usedByALoss(ns *rules.Namespace) {
	if ns.Meta.Quarantine > 0 && !ns.Meta.Pin.Change.Falls {
		ns.Meta.Pin.Change = lease.PinChange{}
	}
}

// blind hides a loss from renew, and hides from the next verb that there was one.
var blind = inRenew(func(ns rules.Namespace, now int64, _ string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
	seen := ns
	for w := range ns.Slots {
		seen = change(seen, int64(w), func(s *rules.Slot) { s.HasLease, s.HasMark = true, true })
	}
	seen.Meta.Pin = g.Pin()
	after, renewed, err := seen.Renew(now, "", g)
	if err != nil {
		return ns, renewed, err
	}
	for w, s := range ns.Slots {
		after = change(after, int64(w), func(t *rules.Slot) { t.HasLease, t.HasMark = s.HasLease, s.HasMark })
	}
	after.Meta = ns.Meta
	return after, renewed, nil
})

// takeAnew gives a slot without an owner to a former holder whose ceiling lies ahead.
var takeAnew = inRenew(func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
	ns, renewed, err := ns.Renew(now, inc, g)
	s, skew := ns.Slots[g.Worker], g.Skew.Milliseconds()
	if !errors.Is(err, lease.ErrLost) || ns.Meta.Quarantine < now || s.Expires >= now || g.Ceiling <= now+skew {
		return ns, renewed, err
	}
	g.Token = max(s.Token, g.Token, now) + 1
	g.Ceiling = max(s.Mark, g.Ceiling, now+g.TTL.Milliseconds())
	return change(ns, g.Worker, func(s *rules.Slot) {
		s.Owner, s.Token, s.Floor, s.Mark, s.Expires = g.Owner, g.Token, g.Floor, g.Ceiling, now+g.TTL.Milliseconds()
	}), g, nil
})

// extendedBelow extends the recorded lease even if a quarantine lies above its floor.
var extendedBelow = inRenew(func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
	ns = looked(ns, now, inc, g.Request)
	was := ns.Meta.Quarantine
	ns.Meta.Quarantine = 0
	ns, renewed, err := ns.Renew(now, inc, g)
	ns.Meta.Quarantine = was
	return ns, renewed, err
})

// lower lends and swaps from one millisecond below the quarantine.
func lower(v verbs) verbs {
	return verbs{
		func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
			ns, g, err := ns.Acquire(now, inc, req)
			return lowered(ns, g, err)
		},
		func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
			ns, g, err := ns.Renew(now, inc, g)
			return lowered(ns, g, err)
		},
		v.release,
	}
}

func lowered(ns rules.Namespace, g lease.Grant, err error) (rules.Namespace, lease.Grant, error) {
	if err != nil || g.Floor != ns.Meta.Quarantine {
		return ns, g, err
	}
	g.Floor--
	return change(ns, g.Worker, func(s *rules.Slot) { s.Floor = g.Floor }), g, nil
}

// unbounded lends for a TTL above a floor ahead of the clock, however far ahead it is.
var unbounded = inAcquire(func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
	ns, g, err := ns.Acquire(now, inc, req)
	if err == nil && g.Floor >= now {
		g.Ceiling = g.Floor + req.TTL.Milliseconds()
		ns = change(ns, g.Worker, func(s *rules.Slot) { s.Mark = g.Ceiling })
	}
	return ns, g, err
})

// renewedAs renews, and then changes what is lent and what is on record.
func renewedAs(f func(g lease.Grant, was rules.Slot, renewed *lease.Grant, is *rules.Slot)) breach {
	return inRenew(func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
		was := ns.Slots[g.Worker]
		ns, renewed, err := ns.Renew(now, inc, g)
		if err == nil {
			ns = change(ns, g.Worker, func(is *rules.Slot) { f(g, was, &renewed, is) })
		}
		return ns, renewed, err
	})
}

var (
	// unmarked swaps a holder's range and leaves the mark unchanged.
	unmarked = renewedAs(func(g lease.Grant, was rules.Slot, renewed *lease.Grant, is *rules.Slot) {
		if renewed.Floor != g.Floor {
			is.Mark = was.Mark
		}
	})
	// stretched starts a holder's next range where the former one began.
	stretched = renewedAs(func(g lease.Grant, _ rules.Slot, renewed *lease.Grant, is *rules.Slot) {
		renewed.Floor, is.Floor = g.Floor, g.Floor
	})
	// sameToken swaps a holder's range and keeps its token.
	sameToken = renewedAs(func(g lease.Grant, _ rules.Slot, renewed *lease.Grant, is *rules.Slot) {
		renewed.Token, is.Token = g.Token, g.Token
	})
)

// anyMark repeats the recorded grant even if its mark was lost.
var anyMark = inAcquire(func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
	ns = looked(ns, now, inc, req)
	for w, s := range ns.Slots {
		if s.Owner == req.Owner && s.Expires >= now+req.Skew.Milliseconds() {
			return ns, lease.Grant{Request: req, Worker: int64(w), Token: s.Token, Now: now, Floor: s.Floor, Ceiling: s.Mark, Since: s.Since}, nil
		}
	}
	return ns.Acquire(now, inc, req)
})

// careless renews alone without one of the conditions: it extends what is on record as if
// it were what fix makes of it.
func careless(fix func(ns *rules.Namespace, s *rules.Slot, inc string, g lease.Grant)) breach {
	return inRenew(func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
		seen := change(ns, g.Worker, func(*rules.Slot) {})
		fix(&seen, &seen.Slots[g.Worker], inc, g)
		if !seen.InOrder(now, inc, g) {
			return ns.RenewAlone(now, inc, g)
		}
		seen, g, err := seen.RenewAlone(now, inc, g)
		is := seen.Slots[g.Worker]
		return change(ns, g.Worker, func(s *rules.Slot) {
			s.HasLease, s.HasMark, s.Mark, s.Expires = true, true, is.Mark, is.Expires
		}), g, err
	})
}

// Each of these forgets one condition of a renewal that does not look at other records.
var (
	ofAnybody = careless(func(_ *rules.Namespace, s *rules.Slot, _ string, g lease.Grant) {
		s.Owner, s.Token, s.Floor = g.Owner, g.Token, g.Floor
	})
	ofAnotherGrant = careless(func(_ *rules.Namespace, s *rules.Slot, _ string, g lease.Grant) {
		s.Token, s.Floor = g.Token, g.Floor
	})
	ofAnotherToken  = careless(func(_ *rules.Namespace, s *rules.Slot, _ string, g lease.Grant) { s.Token = g.Token })
	onAnotherServer = careless(func(ns *rules.Namespace, _ *rules.Slot, inc string, _ lease.Grant) {
		ns.Meta.Incarnation = inc
	})
	inAQuarantine = careless(func(ns *rules.Namespace, _ *rules.Slot, _ string, _ lease.Grant) { ns.Meta.Quarantine = 0 })
	withoutMeta   = careless(func(ns *rules.Namespace, _ *rules.Slot, inc string, g lease.Grant) {
		ns.Meta.Pin, ns.Meta.Incarnation = g.Pin(), inc
	})
	withoutItsSlot = careless(func(_ *rules.Namespace, s *rules.Slot, _ string, _ lease.Grant) {
		s.HasLease, s.HasMark = true, true
	})
)

// TestBroken checks that the search finds what each rule prevents. The letters are
// those of the protocol's first model.
func TestBroken(t *testing.T) {
	t.Parallel()
	wipe := func(name string, ttl ...int8) config {
		return config{Name: name, TTL: ttl, Ticks: 7, Wipe: true, Losses: 1}
	}
	failover := func(name string, ttl ...int8) config {
		return config{Name: name, TTL: ttl, Ticks: 6, Failover: true, Losses: 1}
	}
	back := func(by, skew int8, c config) config {
		c.Back, c.Steps, c.Skew = by, 1, skew
		return c
	}
	twice := func(c config) config {
		c.Losses = 2
		return c
	}
	alone := func(c config) config {
		c.Alone = true
		return c
	}
	for _, c := range []struct {
		config
		broken breach
		want   kind
	}{
		{config{Name: "M0 no ceiling", TTL: []int8{2, 2}, Ticks: 4}, noCeiling, duplicate},
		{config{Name: "M1 no floor", TTL: []int8{2, 2}, Ticks: 4}, noFloor, duplicate},
		{config{Name: "M1 no floor, clock back", TTL: []int8{2, 2}, Ticks: 4, Back: 2, Steps: 1}, noFloor, duplicate},
		{config{Name: "M2 steal the least score", TTL: []int8{2, 2}, Ticks: 4}, stealLeast, duplicate},
		{config{Name: "M4 renew unfenced", TTL: []int8{1, 1}, Ticks: 3}, unfencedRenew, duplicate},
		{config{Name: "M5 release unfenced", TTL: []int8{1, 1, 1}, Ticks: 3}, unfencedRelease, duplicate},
		{config{Name: "borrowed again by the owner that gave it back", TTL: []int8{2, 2}, Ticks: 4, Again: true}, nil, duplicate},
		{config{Name: "release without clamp: the mark", TTL: []int8{2, 2}, Ticks: 4, Wild: true}, noClamp, fallen},
		{config{Name: "release without clamp, clock back", TTL: []int8{1, 1, 1}, Ticks: 4, Back: 2, Steps: 1, Wild: true}, noClamp, duplicate},
		{config{Name: "a late reply installed by a plain store", TTL: []int8{2, 2}, Ticks: 4, LateReplies: true, Revive: true}, nil, duplicate},
		{wipe("B1 wipe, no quarantine", 2, 2), noQuarantine, duplicate},
		{config{Name: "a part lost, no quarantine", TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 1}, noQuarantine, duplicate},
		{wipe("B2 wipe, lent from the clock on", 2, 2), atTheClock, duplicate},
		{failover("B4 failover, no quarantine", 1, 1), noQuarantine, duplicate},
		{config{Name: "B4 failover, incarnations not compared", TTL: []int8{1, 1}, Ticks: 6, Failover: true, Never: true, Losses: 1}, nil, duplicate},
		{back(2, 0, wipe("C1 wipe, clock back by more than the skew", 1, 1)), nil, duplicate},
		{back(2, 2, wipe("C1 wipe, clock back, quarantine without skew", 2, 2)), quarantineOf(func(r *lease.Request) { r.Skew = 0 }), duplicate},
		{config{Name: "not covered: wipe, callers' clocks apart by more than the skew", TTL: []int8{1, 1}, Apart: []int8{0, 2}, Ticks: 7, Wipe: true, Losses: 1}, nil, duplicate},
		{config{Name: "no floor, callers' clocks apart", TTL: []int8{2, 2}, Ticks: 4, Apart: []int8{0, 3}}, noFloor, duplicate},
		{wipe("wipe, quarantine of the newcomer's TTL", 3, 1), quarantineOf(func(r *lease.Request) { r.MaxTTL = r.TTL }), duplicate},
		{config{Name: "a part lost twice, quarantine of who asks", TTL: []int8{1, 1, 1}, MaxTTL: []int8{3, 1, 1}, Ticks: 5, Parts: true, Losses: 2}, quarantineOf(func(*lease.Request) {}), duplicate},
		{config{Name: "two failovers, a loss uses a raise", TTL: []int8{3, 1}, MaxTTL: []int8{3, 1}, Opened: 1, Ticks: 7, Failover: true, Losses: 2}, after(usedByALoss), duplicate},
		{config{Name: "not covered: wipe, seen by who allows for less", TTL: []int8{3, 1}, MaxTTL: []int8{3, 1}, Ticks: 7, Wipe: true, Losses: 1}, nil, duplicate},
		{wipe("wipe, quarantine 1 ms too short", 2, 2), quarantineOf(func(r *lease.Request) { r.MaxTTL -= time.Millisecond }), duplicate},
		{twice(wipe("W2 two wipes, a slot is taken anew by who is not on record", 2, 2, 2)), takeAnew, duplicate},
		{config{Name: "F2 part lost, then failover, extended below the quarantine", TTL: []int8{2, 2}, Ticks: 4, Parts: true, Failover: true, Losses: 2}, extendedBelow, duplicate},
		{failover("failover, extended below the quarantine", 2, 2), extendedBelow, outside},
		{twice(failover("two failovers, a slot is taken anew by who is not on record", 2, 2, 2)), takeAnew, duplicate},
		{wipe("wipe, lent from a millisecond below the quarantine", 2, 2), lower, outside},
		{back(1, 1, wipe("wipe, clock back, lent from a millisecond below the quarantine", 2, 2)), lower, duplicate},
		{failover("failover, swapped from a millisecond below the quarantine", 2, 2), lower, outside},
		{twice(wipe("two wipes, lent for a TTL above a floor that lies ahead", 2, 2)), unbounded, duplicate},
		{failover("failover, swapped without a mark", 2, 2), unmarked, outside},
		{failover("failover, a swap begins where the former range did", 2, 2), stretched, outside},
		{failover("a swap leaves its token", 2, 2), sameToken, fallen},
		{config{Name: "an empty range is lent again", TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 1}, anyMark, outside},
		{wipe("wipe, seen by acquire only", 2, 2), blind, unseen},
		{config{Name: "a part lost, seen by acquire only", TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 1}, blind, unseen},
		{alone(config{Name: "alone, whoever is on record", TTL: []int8{1, 1}, Ticks: 4}), ofAnybody, duplicate},
		{alone(config{Name: "alone, an earlier grant of the same owner", TTL: []int8{1, 1}, Ticks: 4}), ofAnotherGrant, duplicate},
		{alone(config{Name: "alone, another token", TTL: []int8{1, 1}, Ticks: 4}), ofAnotherToken, outside},
		{alone(failover("alone, on another server", 2, 2)), onAnotherServer, unseen},
		{alone(failover("alone, below a quarantine", 2, 2)), inAQuarantine, outside},
		{alone(twice(config{Name: "alone, without the record of the namespace", TTL: []int8{2, 2}, Ticks: 4, Parts: true})), withoutMeta, unseen},
		{alone(config{Name: "alone, without its slot", TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 1}), withoutItsSlot, unseen},
		{config{Name: "not covered: failover back to a server that kept its incarnation", TTL: []int8{2, 2}, Ticks: 6, Failover: true, Failback: true, Losses: 2}, nil, duplicate},
	} {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			v := theRules()
			if c.broken != nil {
				v = c.broken(v)
			}
			c.Limit = 300_000
			m := newModel(c.config, v)
			m.only = c.want
			r := m.search()
			t.Log(r)
			if r.found != c.want {
				t.Errorf("no %v found", c.want)
			}
		})
	}
}
