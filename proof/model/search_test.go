package model

import (
	"fmt"
	"hash/maphash"
	"strings"
)

// result is the outcome of a search.
type result struct {
	states, steps, depth int
	exhausted            bool
	found                kind
	trace                string
}

func (r result) String() string {
	how := "exhausted"
	switch {
	case r.found != 0:
		return fmt.Sprintf("%v after %d states, %d steps deep:\n%s", r.found, r.states, r.depth, r.trace)
	case !r.exhausted:
		how = "the bound"
	}
	return fmt.Sprintf("SAFE, %d states (%s), %d steps between them, depth %d", r.states, how, r.steps, r.depth)
}

// node leads back to the first state.
type node struct {
	parent  int32
	ordinal uint16 // of the step among the parent's
}

type open struct {
	state state
	id    int32
}

// search explores breadth first until a violation, the limit or the end. It identifies
// states by 128 bits of hash: fewer than one in 10^24 searches mistakes two states for one.
func (m *model) search() (r result) {
	seeds := [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}
	seen := map[[2]uint64]struct{}{}
	var (
		nodes []node
		level []open
		after []open
		buf   []byte
		end   *node
	)
	visit := func(s *state, n node) {
		buf = s.append(buf[:0], m, m.canon(s))
		key := [2]uint64{maphash.Bytes(seeds[0], buf), maphash.Bytes(seeds[1], buf)}
		if _, ok := seen[key]; ok {
			return
		}
		seen[key] = struct{}{}
		after = append(after, open{*s, int32(len(nodes))})
		nodes = append(nodes, n)
	}
	s := m.first()
	visit(&s, node{parent: -1})
	for ; len(after) > 0 && end == nil; r.depth++ {
		level, after = after, level[:0]
		for i := range level {
			from := &level[i]
			ordinal := uint16(0)
			m.next(&from.state, func(_ step, to state, broken *violation) {
				n := node{from.id, ordinal}
				ordinal++
				r.steps++
				if end != nil {
					return
				}
				if broken != nil && (m.only == 0 || broken.kind == m.only) {
					r.found, end = broken.kind, &n
					return
				}
				visit(&to, n)
			})
			if m.Limit > 0 && len(nodes) >= m.Limit {
				r.states = len(nodes)
				return r
			}
			if end != nil {
				break
			}
		}
	}
	r.states, r.exhausted = len(nodes), end == nil
	if end != nil {
		r.trace = m.trace(nodes, *end)
	}
	return r
}

// trace repeats the steps that lead to end. Holders keep the name that they have in
// the first state.
func (m *model) trace(nodes []node, end node) string {
	way := []uint16{end.ordinal}
	for id := end.parent; nodes[id].parent >= 0; id = nodes[id].parent {
		way = append(way, nodes[id].ordinal)
	}
	var out strings.Builder
	s := m.first()
	names := [maxHolders]byte{'A', 'B', 'C', 'D'}
	name := func(i int8) string { return string(names[i]) }
	for i := len(way) - 1; i >= 0; i-- {
		var (
			to      state
			ordinal uint16
		)
		m.next(&s, func(st step, reached state, broken *violation) {
			if ordinal == way[i] {
				to = reached
				fmt.Fprintf(&out, "  at %-2d %s\n", m.now(&s), st.text(name))
				if broken != nil && i == 0 {
					fmt.Fprintf(&out, "  => %v\n", broken.text(name))
				}
			}
			ordinal++
		})
		moved, before := m.canon(&to), names
		for place, was := range moved[:m.holders()] {
			names[place] = before[was]
		}
		s = to
	}
	return out.String()
}
