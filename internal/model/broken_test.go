package model

import (
	"errors"
	"testing"
	"time"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/internal/rules"
)

// Each function here breaks the rules in one place, from outside: by what it lets
// them see, or by what it makes of their answer.

// change returns ns with a slot changed.
func change(ns rules.Namespace, w int64, f func(*rules.Slot)) rules.Namespace {
	ns.Slots = append([]rules.Slot(nil), ns.Slots...)
	f(&ns.Slots[w])
	return ns
}

// looked is ns after the look that comes before every verb, by one that changes
// nothing else.
func looked(ns rules.Namespace, now int64, incarnation string, req lease.Request) rules.Namespace {
	req.Owner = [16]byte{0xff}
	ns, err := ns.Release(now, incarnation, lease.Grant{Request: req}, 0)
	if !errors.Is(err, lease.ErrLost) {
		panic(err)
	}
	return ns
}

// asIf calls f with other times in the request than those that are pinned.
func asIf(ns rules.Namespace, req *lease.Request, times func(*lease.Request), f func(rules.Namespace) rules.Namespace) rules.Namespace {
	pin, was := req.Pin(), *req
	times(req)
	if ns.Meta.Pin != "" {
		ns.Meta.Pin = req.Pin()
	}
	ns = f(ns)
	if ns.Meta.Pin != "" {
		ns.Meta.Pin = pin
	}
	req.TTL, req.MaxTTL, req.Skew = was.TTL, was.MaxTTL, was.Skew
	return ns
}

func quarantined(ns rules.Namespace, now int64) bool { return ns.Meta.Quarantine >= now }

func held(s rules.Slot, now int64, g lease.Grant) bool {
	return s.Owner == g.Owner && s.Token == g.Token && s.Expires >= now+g.Skew.Milliseconds()
}

func noCeiling(v verbs) verbs {
	v.acquire = func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
		ns, g, err := ns.Acquire(now, inc, req)
		if err == nil {
			g.Ceiling = horizon.ms()
		}
		return ns, g, err
	}
	return v
}

func noFloor(v verbs) verbs {
	v.acquire = func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
		for w := range ns.Slots {
			if s := ns.Slots[w]; s.Expires < now && s.Mark != 0 {
				ns = change(ns, int64(w), func(s *rules.Slot) { s.Mark = 0 })
			}
		}
		return ns.Acquire(now, inc, req)
	}
	return v
}

func stealLeast(v verbs) verbs {
	v.acquire = func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
		free, g, err := ns.Acquire(now, inc, req)
		if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) {
			return change(free, 0, func(s *rules.Slot) { s.Expires, s.Mark = 0, 0 }).Acquire(now, inc, req)
		}
		return free, g, err
	}
	return v
}

func unfencedRenew(v verbs) verbs {
	v.renew = func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
		asked := g
		if s := ns.Slots[g.Worker]; s.Owner != [16]byte{} {
			g.Owner, g.Token = s.Owner, s.Token
		}
		ns, renewed, err := ns.Renew(now, inc, g)
		renewed.Request, renewed.Token = asked.Request, asked.Token
		return ns, renewed, err
	}
	return v
}

func unfencedRelease(v verbs) verbs {
	v.release = func(ns rules.Namespace, now int64, inc string, g lease.Grant, lastUsed int64) (rules.Namespace, error) {
		s := ns.Slots[g.Worker]
		g.Owner, g.Token = s.Owner, s.Token
		return ns.Release(now, inc, g, lastUsed)
	}
	return v
}

func noClamp(v verbs) verbs {
	v.release = func(ns rules.Namespace, now int64, inc string, g lease.Grant, lastUsed int64) (rules.Namespace, error) {
		ns, err := ns.Release(now, inc, g, lastUsed)
		if err == nil {
			ns = change(ns, g.Worker, func(s *rules.Slot) { s.Mark = lastUsed })
		}
		return ns, err
	}
	return v
}

func noQuarantine(v verbs) verbs {
	v.acquire = func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
		ns = looked(ns, now, inc, req)
		ns.Meta.Quarantine = 0
		return ns.Acquire(now, inc, req)
	}
	return v
}

// liftedFloor lends at once what lies above the quarantine.
func liftedFloor(v verbs) verbs {
	v.acquire = func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
		ns = looked(ns, now, inc, req)
		return ns.Acquire(max(now, ns.Meta.Quarantine+1), inc, req)
	}
	return v
}

func quarantineOf(times func(*lease.Request)) func(verbs) verbs {
	return func(v verbs) verbs {
		look := func(ns rules.Namespace, now int64, inc string, req lease.Request) rules.Namespace {
			return asIf(ns, &req, times, func(ns rules.Namespace) rules.Namespace { return looked(ns, now, inc, req) })
		}
		return verbs{
			func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
				return look(ns, now, inc, req).Acquire(now, inc, req)
			},
			func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
				return look(ns, now, inc, g.Request).Renew(now, inc, g)
			},
			func(ns rules.Namespace, now int64, inc string, g lease.Grant, lastUsed int64) (rules.Namespace, error) {
				return look(ns, now, inc, g.Request).Release(now, inc, g, lastUsed)
			},
		}
	}
}

// blind hides from renew what is missing, and from the next verb that it was.
func blind(v verbs) verbs {
	v.renew = func(ns rules.Namespace, now int64, _ string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
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
	}
	return v
}

func renewExpired(v verbs) verbs {
	v.renew = func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
		ns = looked(ns, now, inc, g.Request)
		if s := ns.Slots[g.Worker]; s.Owner == g.Owner && s.Token == g.Token {
			lived, renewed, err := change(ns, g.Worker, func(s *rules.Slot) { s.Expires = max(s.Expires, now+g.Skew.Milliseconds()) }).Renew(now, inc, g)
			if err == nil {
				return lived, renewed, nil
			}
		}
		return ns.Renew(now, inc, g)
	}
	return v
}

// retake lets a holder that is not on record show another ceiling than it has, or
// another skew.
func retake(shown func(now int64, g *lease.Grant)) func(verbs) verbs {
	return func(v verbs) verbs {
		v.renew = func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
			ns = looked(ns, now, inc, g.Request)
			if held(ns.Slots[g.Worker], now, g) || !quarantined(ns, now) {
				return ns.Renew(now, inc, g)
			}
			var (
				renewed lease.Grant
				err     error
			)
			ns = asIf(ns, &g.Request, func(*lease.Request) { shown(now, &g) }, func(ns rules.Namespace) rules.Namespace {
				ns, renewed, err = ns.Renew(now, inc, g)
				return ns
			})
			return ns, renewed, err
		}
		return v
	}
}

// early lends already at the last millisecond of a quarantine, above it or not.
func early(above bool) func(verbs) verbs {
	return func(v verbs) verbs {
		v.acquire = func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
			ns = looked(ns, now, inc, req)
			if ns.Meta.Quarantine != now {
				return ns.Acquire(now, inc, req)
			}
			ns.Meta.Quarantine--
			after, g, err := ns.Acquire(now, inc, req)
			after.Meta.Quarantine++
			if err == nil && above && g.Floor < now {
				g.Floor = now
				after = change(after, g.Worker, func(s *rules.Slot) { s.Floor = now })
			}
			return after, g, err
		}
		return v
	}
}

// atTheMark lends already at the last millisecond of the lease before, above it.
// For one worker.
func atTheMark(v verbs) verbs {
	v.acquire = func(ns rules.Namespace, now int64, inc string, req lease.Request) (rules.Namespace, lease.Grant, error) {
		ns = looked(ns, now, inc, req)
		if s := ns.Slots[0]; s.Mark != now || s.Expires > now || s.Owner == req.Owner {
			return ns.Acquire(now, inc, req)
		}
		after, g, err := change(ns, 0, func(s *rules.Slot) { s.Mark, s.Expires = now-1, now-1 }).Acquire(now, inc, req)
		if err != nil {
			return ns, g, err
		}
		g.Floor = now
		return change(after, 0, func(s *rules.Slot) { s.Floor = now }), g, nil
	}
	return v
}

// lentUnseen lets a former holder take anew what was lent after the quarantine.
func lentUnseen(v verbs) verbs {
	renew := v.renew
	v.renew = func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
		ns = looked(ns, now, inc, g.Request)
		mark := ns.Slots[g.Worker].Mark
		seen := change(ns, g.Worker, func(s *rules.Slot) { s.Mark = min(s.Mark, ns.Meta.Quarantine) })
		after, renewed, err := renew(seen, now, inc, g)
		if err != nil {
			return ns, renewed, err
		}
		renewed.Ceiling = max(renewed.Ceiling, mark)
		return change(after, g.Worker, func(s *rules.Slot) { s.Mark = renewed.Ceiling }), renewed, nil
	}
	return v
}

// retookByName takes any later grant of the same owner for the one that is renewed.
func retookByName(v verbs) verbs {
	v.renew = func(ns rules.Namespace, now int64, inc string, g lease.Grant) (rules.Namespace, lease.Grant, error) {
		ns = looked(ns, now, inc, g.Request)
		if s := ns.Slots[g.Worker]; s.Owner == g.Owner && s.Token > g.Token && quarantined(ns, now) {
			ns = change(ns, g.Worker, func(s *rules.Slot) { s.Floor = g.Floor })
		}
		return ns.Renew(now, inc, g)
	}
	return v
}

func anyCeiling(now int64, g *lease.Grant) { g.Ceiling = max(g.Ceiling, now+1) }

func noMargin(_ int64, g *lease.Grant) { g.Skew, g.MaxTTL = 0, time.Hour }

func atTheMargin(now int64, g *lease.Grant) {
	if g.Ceiling == now+g.Skew.Milliseconds() {
		g.Ceiling++
	}
}

// TestBroken shows that the search finds what each rule is there for. The letters
// are those of the protocol's first model.
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
	for _, c := range []struct {
		config
		broken func(verbs) verbs
		want   kind
	}{
		{config{Name: "M0 no ceiling", TTL: []int8{2, 2}, Ticks: 4}, noCeiling, duplicate},
		{config{Name: "M1 no floor", TTL: []int8{2, 2}, Ticks: 4}, noFloor, duplicate},
		{config{Name: "M1 no floor, clock back", TTL: []int8{2, 2}, Ticks: 4, Back: 2, Steps: 1}, noFloor, duplicate},
		{config{Name: "M2 steal the least score", TTL: []int8{2, 2}, Ticks: 4}, stealLeast, duplicate},
		{config{Name: "M4 renew unfenced", TTL: []int8{1, 1}, Ticks: 3}, unfencedRenew, duplicate},
		{config{Name: "M5 release unfenced", TTL: []int8{1, 1, 1}, Ticks: 3}, unfencedRelease, duplicate},
		{config{Name: "release without clamp: the mark", TTL: []int8{2, 2}, Ticks: 4, Wild: true}, noClamp, fallen},
		{config{Name: "release without clamp, clock back", TTL: []int8{1, 1, 1}, Ticks: 4, Back: 2, Steps: 1, Wild: true}, noClamp, duplicate},
		{config{Name: "a late reply installed by a plain store", TTL: []int8{2, 2}, Ticks: 4, LateReplies: true, Revive: true}, nil, duplicate},
		{wipe("B1 wipe, no quarantine", 2, 2), noQuarantine, duplicate},
		{config{Name: "a part lost, no quarantine", TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 1}, noQuarantine, duplicate},
		{wipe("B2 wipe, floor lifted instead of waiting", 2, 2), func(v verbs) verbs { return lentUnseen(liftedFloor(v)) }, duplicate},
		{twice(wipe("B2 two wipes, floor lifted instead of waiting", 2, 2)), liftedFloor, duplicate},
		{failover("B4 failover, no quarantine", 1, 1), noQuarantine, duplicate},
		{func() config { c := failover("B4 failover, incarnations not compared", 1, 1); c.Never = true; return c }(), nil, duplicate},
		{failover("B5 failover, renewal after expiry", 1, 1), renewExpired, duplicate},
		{back(2, 0, wipe("C1 wipe, clock back by more than the skew", 1, 1)), nil, duplicate},
		{back(2, 2, wipe("C1 wipe, clock back, quarantine without skew", 2, 2)), quarantineOf(func(r *lease.Request) { r.Skew = 0 }), duplicate},
		{wipe("wipe, quarantine of the newcomer's TTL", 3, 1), quarantineOf(func(r *lease.Request) { r.MaxTTL = r.TTL }), duplicate},
		{wipe("wipe, quarantine 1 ms too short", 2, 2), quarantineOf(func(r *lease.Request) { r.MaxTTL -= time.Millisecond }), duplicate},
		{wipe("W2 wipe, re-take with any ceiling", 1, 1), retake(anyCeiling), duplicate},
		{failover("F2 failover, re-take with any ceiling", 1, 1), retake(anyCeiling), duplicate},
		{back(2, 2, wipe("S1 wipe, clock back, re-take without the margin", 1, 1)), func(v verbs) verbs { return lentUnseen(retake(noMargin)(v)) }, duplicate},
		{failover("re-take known by its owner alone", 1, 1), retookByName, duplicate},
		{wipe("wipe, seen by acquire only", 2, 2), blind, unseen},
		{config{Name: "a part lost, seen by acquire only", TTL: []int8{2, 2}, Ticks: 4, Parts: true, Losses: 1}, blind, unseen},
		{wipe("lent at the last ms of a quarantine", 1, 1), early(true), outside},
		{wipe("lent at the last ms of a quarantine, not above it", 1, 1), early(false), duplicate},
		{wipe("lent at the mark, and re-take at ceiling = now+skew", 1, 1), func(v verbs) verbs { return atTheMark(retake(atTheMargin)(v)) }, duplicate},
		{twice(func() config {
			c := failover("not covered: failover back to a server that kept its incarnation", 2, 2)
			c.Failback = true
			return c
		}()), nil, duplicate},
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

// TestSpare shows which rules are stricter than uniqueness asks for while the
// others stand: each has a millisecond to spare. TestBroken has what each is for.
func TestSpare(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		broken func(verbs) verbs
	}{
		{"lent at the last ms of a quarantine, above it", early(true)},
		{"lent at the mark, above it", atTheMark},
		{"re-take at ceiling = now+skew", retake(atTheMargin)},
		{"floor lifted instead of waiting", liftedFloor},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := newModel(config{Name: c.name, TTL: []int8{1, 1}, Ticks: 5, Wipe: true, Losses: 1, Known: 1}, c.broken(theRules()))
			m.Limit = min(limit(), 1_000_000)
			m.only = duplicate
			explore(t, m)
		})
	}
}
