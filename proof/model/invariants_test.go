package model

import "fmt"

type kind int

const (
	_         kind = iota
	duplicate      // two holders may use the same moment of the same worker
	fallen         // a mark fell, or a token did not rise
	outside        // a grant breaks its contract
	unseen         // a loss was not noticed by the first verb
)

func (k kind) String() string {
	return [...]string{"", "DUPLICATE", "FALLEN", "OUTSIDE", "UNSEEN"}[k]
}

type violation struct {
	kind kind
	text func(name func(int8) string) string
}

// disjoint checks that no two holders may use the same moment of the same worker.
func (m *model) disjoint(s *state) *violation {
	for w := range m.Workers {
		var all span
		for i := range s.holders[:m.holders()] {
			mine := s.holders[i].may[w]
			if all&mine == 0 {
				all |= mine
				continue
			}
			for j := range i {
				if other := s.holders[j].may[w]; other&mine != 0 {
					return &violation{duplicate, func(name func(int8) string) string {
						return fmt.Sprintf("worker %d: %s may use %v, %s may use %v", w, name(int8(j)), other, name(int8(i)), mine)
					}}
				}
			}
		}
	}
	return nil
}

// mayMiss reports whether a verb may have left a loss unseen: a renewal by a center that
// does not look at the records of others, if all is there that it looks at.
func (m *model) mayMiss(c call, r reply) bool {
	s := &c.store.slots[c.grant.worker]
	return m.Alone && c.verb == renew && r.answer == done && r.store.quarantine == c.store.quarantine &&
		s.hasLease && s.hasMark && c.store.maxTTL > 0 && c.store.incarnation == c.incarnation
}

// used is how far ahead of the clock grants may reach.
func (st *store) used() moment {
	if st.former != 0 {
		return moment(max(st.former, -st.former))
	}
	return moment(st.maxTTL)
}

// check checks the effect of one verb.
func (m *model) check(from, to *state, c call, r reply) *violation {
	broken := func(k kind, format string, args ...any) *violation {
		return &violation{k, func(func(int8) string) string { return fmt.Sprintf(format, args...) }}
	}
	owns := false // the caller releases its own record
	for w := range int8(m.Workers) {
		was, is := from.store.slots[w], to.store.slots[w]
		if c.verb == release && r.answer == done && w == c.grant.worker {
			owns = was.owner == c.who+1 && was.token == c.grant.token
			switch {
			case !owns:
				return broken(fallen, "worker %d was given back by somebody else", w)
			case is.mark < from.holders[c.who].may[w].top() || is.mark < c.grant.floor || is.mark > c.grant.ceiling:
				return broken(fallen, "mark %d of worker %d: its holder used up to %d of (%d,%d]", is.mark, w, from.holders[c.who].may[w].top(), c.grant.floor, c.grant.ceiling)
			}
		} else if is.mark < was.mark {
			return broken(fallen, "mark of worker %d: %d, was %d", w, is.mark, was.mark)
		}
		if is.token < was.token || is.owner != was.owner && is.owner != 0 && is.token == was.token {
			return broken(fallen, "token of worker %d: %d, was %d", w, is.token, was.token)
		}
		if from.losses == 0 {
			for _, h := range from.holders {
				if top := h.may[w].top(); is.mark < top {
					return broken(fallen, "mark %d of worker %d: up to %d was granted", is.mark, w, top)
				}
			}
		}
	}
	if from.unseen && !to.unseen && to.store.quarantine < c.now+moment(max(c.maxTTL, c.store.maxTTL)+m.Skew) {
		return broken(unseen, "the loss was not seen: quarantine until %d", to.store.quarantine)
	}
	if r.answer != done || c.verb == release {
		return nil
	}
	g := r.grant
	was, is := from.store.slots[g.worker], to.store.slots[g.worker]
	horizon, fresh := to.store.quarantine, was.owner != is.owner || was.token != is.token
	switch {
	case g.floor >= g.ceiling || is.owner != c.who+1 || is.token != g.token || is.mark < g.ceiling || is.floor != g.floor:
		return broken(outside, "granted (%d,%d], on record is %+v", g.floor, g.ceiling, is)
	case fresh && (g.floor < was.mark || g.floor < c.now-1 || g.floor < horizon):
		return broken(outside, "lent (%d,%d] at %d above a mark of %d and a quarantine until %d", g.floor, g.ceiling, c.now, was.mark, horizon)
	case is.mark > max(was.mark, c.grant.ceiling, c.now+max(from.store.used(), to.store.used())):
		return broken(outside, "at %d a mark of %d", c.now, is.mark)
	case c.verb == renew && (g.worker != c.grant.worker || g.floor < horizon):
		return broken(outside, "(%d,%d] is renewed as (%d,%d] under a quarantine until %d", c.grant.floor, c.grant.ceiling, g.floor, g.ceiling, horizon)
	case c.verb == renew && (g.token < c.grant.token || g.floor < c.grant.floor || g.ceiling < c.grant.ceiling):
		return broken(outside, "(%d,%d] is renewed as (%d,%d]", c.grant.floor, c.grant.ceiling, g.floor, g.ceiling)
	case c.verb == renew && g.floor != c.grant.floor && g.floor < c.grant.ceiling && from.holders[c.who].phase == holding:
		return broken(outside, "(%d,%d] is swapped for (%d,%d]", c.grant.floor, c.grant.ceiling, g.floor, g.ceiling)
	}
	return nil
}
