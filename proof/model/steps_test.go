package model

import (
	"fmt"
	"slices"

	"github.com/snowlease/snowlease/internal/rules"
)

// A config defines what is explored: the size of everything, and the faults. All times
// are in milliseconds.
type config struct {
	Name        string
	Workers     int    // default 1
	TTL         []int8 // one for each holder
	MaxTTL      []int8 // the same; default: the greatest TTL
	Opened      int8   // the TTL and MaxTTL of who opened the namespace; default: those of the first holder
	Skew        int8
	Ticks       int8   // how far the center's clock advances
	Back        int8   // how far it steps back
	Steps       int8   // how often it steps back
	Losses      int8   // how many of the following faults, in any order
	Wipe        bool   // all records
	Parts       bool   // a slot's lease, a slot's mark, both, all owners, the namespace record
	Failover    bool   // to a replica that was in sync at any earlier time
	Failback    bool   // failovers alternate between the incarnations of two servers
	Never       bool   // incarnations are not compared
	Known       int    // default 2: renewals of this many last grants of a holder may be late
	LateReplies bool   // replies to renewals are delayed too
	Exact       bool   // the last holder waits instead of borrowing ahead of the clock
	Wild        bool   // lastUsed has any value
	Revive      bool   // a late reply is installed by a plain store
	Alone       bool   // a renewal does not look at the records of others
	Again       bool   // a holder whose release is under way asks again as the same owner
	Apart       []int8 // how far the clock of each holder is ahead, where the center asks the callers' clocks
	Limit       int    // states; 0: no limit
}

// model explores a config.
type model struct {
	config
	verbs   verbs
	only    kind // the violation to look for; 0: any
	answers map[call]reply
	scratch [maxHolders][]byte
}

func newModel(c config, v verbs) *model {
	if c.Workers == 0 {
		c.Workers = 1
	}
	if c.Known == 0 {
		c.Known = 2
	}
	if c.MaxTTL == nil {
		c.MaxTTL = slices.Repeat([]int8{slices.Max(c.TTL)}, len(c.TTL))
	}
	return &model{config: c, verbs: v, answers: map[call]reply{}}
}

func (m *model) holders() int { return len(m.TTL) }

func (m *model) now(s *state) moment { return start + moment(s.ticks) - moment(s.steps*m.Back) }

// first returns a namespace that Init opened, with holders that ask.
func (m *model) first() state {
	var s state
	for i, ttl := range m.TTL {
		s.holders[i].ttl, s.holders[i].maxTTL = ttl, m.MaxTTL[i]
		if m.Apart != nil {
			s.holders[i].apart = m.Apart[i]
		}
	}
	opener := m.request(0, m.TTL[0], m.MaxTTL[0])
	if m.Opened > 0 {
		opener = m.request(0, m.Opened, m.Opened)
	}
	ns, err := rules.Namespace{}.Init(m.name(0), opener)
	if err != nil {
		panic(err)
	}
	s.store = m.storeOf(ns)
	s.replica = s.store
	m.canon(&s)
	return s
}

// step says how a state follows from the one before.
type step struct {
	what    string
	holder  int8 // -1: none
	asked   grant
	reply   reply
	replied bool
	hears   bool
	gives   bool
	used    moment
}

func (st step) text(name func(int8) string) string {
	if st.holder < 0 {
		return st.what
	}
	out := name(st.holder) + " " + st.what
	if st.asked.token != 0 {
		out += fmt.Sprintf(" w%d t%d (%d,%d]", st.asked.worker, st.asked.token, st.asked.floor, st.asked.ceiling)
	}
	if st.gives {
		out += fmt.Sprintf(" used up to %d", st.used)
	}
	if st.replied {
		out += " -> " + st.reply.answer.String()
		if g := st.reply.grant; g.token != 0 {
			out += fmt.Sprintf(" w%d t%d (%d,%d]", g.worker, g.token, g.floor, g.ceiling)
		}
		if !st.hears {
			out += " (reply lost)"
		}
	}
	return out
}

// next calls found for each step that can follow s, with the violation if the step
// breaks an invariant.
func (m *model) next(s *state, found func(step, state, *violation)) {
	emit := func(st step, to state, broken *violation) {
		if to != *s || broken != nil {
			found(st, to, broken)
		}
	}
	if s.ticks < m.Ticks && !m.lags(s) {
		to := *s
		to.ticks++
		emit(step{what: "a millisecond passes", holder: -1}, to, nil)
	}
	if s.steps < m.Steps {
		to := *s
		to.steps++
		emit(step{what: "THE CLOCK STEPS BACK", holder: -1}, to, nil)
	}
	for i := range int8(m.holders()) {
		h := &s.holders[i]
		if i > 0 && *h == s.holders[i-1] && h.phase == asking && h.may == [maxWorkers]span{} {
			continue // same effect as the one before it
		}
		m.deliver(s, call{verb: acquire, who: i}, "acquires", emit)
		for k, g := range h.known[:m.Known] {
			if g.token != 0 {
				what := "renews"
				if k > 0 || h.phase > holding {
					what = "renewed earlier (arrives late)"
				}
				m.deliver(s, call{verb: renew, who: i, grant: g}, what, emit)
			}
		}
		switch h.phase {
		case holding:
			for _, used := range m.uses(h.known[0]) {
				to := *s
				to.holders[i].stop(used)
				emit(step{what: "stops, gives back", holder: i, asked: h.known[0], gives: true, used: used}, to, nil)
			}
		case stopped:
			m.deliver(s, call{verb: release, who: i, grant: h.known[0], used: h.used}, "gave back (arrives)", emit)
			if m.Again {
				to := *s
				to.holders[i].phase = asking
				emit(step{what: "asks again", holder: i}, to, nil)
			}
		}
		if m.Again && h.phase < stopped && h.used > 0 {
			m.deliver(s, call{verb: release, who: i, grant: h.known[0], used: h.used}, "gave back (arrives late)", emit)
		}
		if h.pending[1].token != 0 && (m.Revive || h.phase == holding && h.known[0] == h.pending[0]) {
			to := *s
			t := &to.holders[i]
			t.phase = holding
			t.learn(h.pending[1], m.Known)
			t.may[t.known[0].worker] |= rangeOf(t.known[0].floor, t.known[0].ceiling)
			t.pending = [2]grant{}
			emit(step{what: "hears of its renewal", holder: i, asked: h.pending[1]}, to, m.disjoint(&to))
		}
	}
	m.faults(s, emit)
}

// lags reports whether the replica still lacks a raise of the pin that is used from the next
// millisecond on. No replica lags by more than what a grant could last before.
func (m *model) lags(s *state) bool {
	return m.Failover && s.replica.maxTTL < s.store.maxTTL && s.store.at > 0 && m.now(s)+1 >= s.store.at
}

// uses returns the last uses that a holder may report.
func (m *model) uses(g grant) []moment {
	uses := []moment{g.floor}
	if g.floor+1 < g.ceiling {
		uses = append(uses, g.floor+1)
	}
	uses = append(uses, g.ceiling)
	if m.Wild { // a last use without a grant, or from an earlier one whose clock was ahead
		uses = append(uses, 0, horizon)
	}
	return uses
}

// stop ends issuing. The reported last use bounds all that the holder ever used.
func (h *holder) stop(used moment) {
	kept := upTo(used)
	if used == horizon { // reported for an earlier grant: this one may be used up
		kept = upTo(h.known[0].ceiling)
	}
	for w := range h.may {
		h.may[w] &= kept
	}
	h.phase, h.used = stopped, used
}

func (h *holder) learn(g grant, n int) {
	if h.known[0] != g {
		copy(h.known[1:n], h.known[:n-1])
		h.known[0] = g
	}
}

// deliver has a request reach the center. It may have been sent at any earlier time,
// by any copy. The reply is lost, or reaches the holder if it still waits.
func (m *model) deliver(s *state, c call, what string, emit func(step, state, *violation)) {
	h := &s.holders[c.who]
	c.store, c.now, c.incarnation, c.ttl, c.maxTTL = s.store, m.now(s), s.incarnation, h.ttl, h.maxTTL
	if m.Apart != nil {
		c.now += moment(h.apart)
	}
	r := m.ask(c)
	to := *s
	to.store, to.unseen = r.store, s.unseen && m.mayMiss(c, r)
	broken := m.check(s, &to, c, r)
	t := &to.holders[c.who]
	if r.answer == done && c.verb != release && h.phase != stopped {
		t.may[r.grant.worker] |= rangeOf(r.grant.floor, r.grant.ceiling)
		if twice := m.disjoint(&to); twice != nil {
			broken = twice
		}
	}
	st := step{what: what, holder: c.who, asked: c.grant, reply: r, replied: true, gives: c.verb == release, used: c.used}
	emit(st, to, broken)

	st.hears = true
	waits := c.verb == acquire && h.phase == asking || c.verb == renew && h.phase == holding && c.grant == h.known[0]
	switch {
	case !waits || r.answer == mustWait || r.answer == isFull || r.answer == refused:
		return
	case r.answer == isLost:
		t.phase = lost
	case c.verb == renew && m.LateReplies:
		t.pending = [2]grant{c.grant, r.grant}
	default:
		t.phase = holding
		t.learn(r.grant, m.Known)
	}
	emit(st, to, broken)
}

// faults plays the faults of the store.
func (m *model) faults(s *state, emit func(step, state, *violation)) {
	if m.Failover && s.replica != s.store {
		to := *s
		to.replica = s.store
		emit(step{what: "replica in step", holder: -1}, to, nil)
	}
	if s.losses >= m.Losses {
		return
	}
	lose := func(what string, seen bool, change func(*state)) {
		to := *s
		to.losses++
		change(&to)
		to.unseen = s.unseen || !seen
		emit(step{what: what, holder: -1}, to, nil)
	}
	if m.Wipe {
		lose("STORE WIPED", false, func(s *state) { s.store, s.replica = store{}, store{} })
	}
	if m.Failover {
		lose("FAILOVER to the replica", m.Never || m.Failback, func(s *state) {
			s.store = s.replica
			if s.incarnation++; m.Failback {
				s.incarnation %= 2
			}
		})
	}
	if m.Parts {
		part := func(what string, seen bool, fault func(rules.Namespace) rules.Namespace) {
			lose(what, seen, func(s *state) { s.store = m.storeOf(fault(m.namespace(s.store))) })
		}
		for w := range m.Workers {
			lease := func(ns rules.Namespace) rules.Namespace { return ns.WithoutLease(int64(w)) }
			mark := func(ns rules.Namespace) rules.Namespace { return ns.WithoutMark(int64(w)) }
			part(fmt.Sprintf("LEASE OF w%d LOST", w), false, lease)
			part(fmt.Sprintf("MARK OF w%d LOST", w), false, mark)
			part(fmt.Sprintf("SLOT w%d LOST", w), false, func(ns rules.Namespace) rules.Namespace { return lease(mark(ns)) })
		}
		part("OWNERS LOST", true, rules.Namespace.WithoutOwners)
		part("META LOST", false, rules.Namespace.WithoutMeta)
	}
}
