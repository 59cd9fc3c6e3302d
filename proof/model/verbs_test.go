package model

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// verbs answers requests by the rules, or by the rules with one of them broken.
type verbs struct {
	acquire acquirer
	renew   renewer
	release releaser
}

type (
	acquirer func(ns rules.Namespace, now int64, incarnation string, req lease.Request) (rules.Namespace, lease.Grant, error)
	renewer  func(ns rules.Namespace, now int64, incarnation string, g lease.Grant) (rules.Namespace, lease.Grant, error)
	releaser func(ns rules.Namespace, now int64, incarnation string, g lease.Grant, lastUsed int64) (rules.Namespace, error)
)

func theRules() verbs {
	return verbs{rules.Namespace.Acquire, rules.Namespace.Renew, rules.Namespace.Release}
}

// alone renews as a center does that does not look at the records of others.
func alone(v verbs) verbs {
	v.renew = rules.Namespace.RenewAlone
	return v
}

type verb int8

const (
	acquire verb = iota
	renew
	release
)

// call is a request as it reaches the center. The answer depends on nothing else but
// the state.
type call struct {
	verb        verb
	store       store
	now         moment
	incarnation int8
	who         int8
	ttl, maxTTL int8
	grant       grant
	used        moment
}

type answer int8

const (
	done     answer = iota
	isLost          // lease.ErrLost
	mustWait        // *lease.QuarantineError
	isFull          // *lease.NoFreeWorkerError
	refused         // *lease.MismatchError
)

func (a answer) String() string {
	return [...]string{"ok", "LOST", "QUARANTINE", "FULL", "REFUSED"}[a]
}

type reply struct {
	answer answer
	store  store
	grant  grant
}

// ask has the verbs answer a call. It caches answers, since the verbs are pure.
func (m *model) ask(c call) reply {
	if r, ok := m.answers[c]; ok {
		return r
	}
	var (
		g   lease.Grant
		err error
		ns  = m.namespace(c.store)
		req = m.request(c.who, c.ttl, c.maxTTL)
		inc = m.name(c.incarnation)
		now = c.now.ms()
	)
	asked := lease.Grant{
		Request: req, Worker: int64(c.grant.worker), Token: c.grant.token.ms(),
		Floor: c.grant.floor.ms(), Ceiling: c.grant.ceiling.ms(),
	}
	switch c.verb {
	case acquire:
		ns, g, err = m.verbs.acquire(ns, now, inc, req)
	case renew:
		ns, g, err = m.verbs.renew(ns, now, inc, asked)
	case release:
		ns, err = m.verbs.release(ns, now, inc, asked, c.used.ms())
	}
	r := reply{store: m.storeOf(ns)}
	switch {
	case err == nil && c.verb != release:
		r.grant = grant{int8(g.Worker), momentOf(g.Token), momentOf(g.Floor), momentOf(g.Ceiling)}
	case err == nil:
	case errors.Is(err, lease.ErrLost):
		r.answer = isLost
	case errors.As(err, new(*lease.QuarantineError)):
		r.answer = mustWait
	case errors.As(err, new(*lease.NoFreeWorkerError)):
		r.answer = isFull
	case errors.As(err, new(*lease.MismatchError)):
		r.answer = refused
	default:
		panic(fmt.Sprintf("model: %+v: %v", c, err))
	}
	m.answers[c] = r
	return r
}

// request returns a request that is valid except for its times, which are too short.
// The rules do not check them.
func (m *model) request(who, ttl, maxTTL int8) lease.Request {
	ms := func(n int8) time.Duration { return time.Duration(n) * time.Millisecond }
	ahead := maxTTL
	if m.Exact && int(who) == m.holders()-1 {
		ahead = 0
	}
	return lease.Request{
		Namespace: "n", Layout: "l", Owner: [16]byte{byte(who) + 1}, Pool: int64(m.Workers), Last: int64(m.Workers) - 1,
		TTL: ms(ttl), MaxTTL: ms(maxTTL), Skew: ms(m.Skew), MaxLead: ms(ahead),
	}
}

func (m *model) name(incarnation int8) string {
	if m.Never {
		return ""
	}
	return strconv.Itoa(int(incarnation))
}

func (m *model) namespace(st store) rules.Namespace {
	ns := rules.Namespace{Slots: make([]rules.Slot, m.Workers)}
	if st.maxTTL > 0 {
		pin := m.request(0, st.maxTTL, st.maxTTL).Pin()
		if st.former != 0 {
			pin.Change = lease.PinChange{Falls: st.former < 0, MaxTTL: time.Duration(max(st.former, -st.former)) * time.Millisecond, Skew: pin.Skew, At: st.at.ms()}
		}
		ns.Meta = rules.Meta{Pin: pin, Incarnation: m.name(st.incarnation), Quarantine: st.quarantine.ms()}
	}
	for w, t := range st.slots[:m.Workers] {
		ns.Slots[w] = rules.Slot{
			HasLease: t.hasLease, HasMark: t.hasMark, Expires: t.expires.ms(), Mark: t.mark.ms(),
			Floor: t.floor.ms(), Token: t.token.ms(), Owner: [16]byte{byte(t.owner)}, Hold: int64(t.hold), Used: int64(t.used),
		}
	}
	return ns
}

func (m *model) storeOf(ns rules.Namespace) (st store) {
	if pin := ns.Meta.Pin; pin != (lease.Pin{}) {
		st.maxTTL, st.quarantine = int8(pin.MaxTTL.Milliseconds()), momentOf(ns.Meta.Quarantine)
		st.former, st.at = int8(pin.Change.MaxTTL.Milliseconds()), momentOf(max(0, pin.Change.At))
		if pin.Change.Falls {
			st.former = -st.former
		}
		if ns.Meta.Incarnation != "" {
			n, err := strconv.Atoi(ns.Meta.Incarnation)
			if err != nil {
				panic(err)
			}
			st.incarnation = int8(n)
		}
	}
	for w, t := range ns.Slots {
		st.slots[w] = slot{
			hasLease: t.HasLease, hasMark: t.HasMark, expires: momentOf(t.Expires), mark: momentOf(t.Mark),
			floor: momentOf(t.Floor), token: momentOf(t.Token), owner: int8(t.Owner[0]), hold: int8(t.Hold), used: int8(t.Used),
		}
	}
	return st
}
