package model

import (
	"bytes"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Sizes of a state. All its parts are small integers, so that it can be copied,
// compared and encoded in a few bytes.
const (
	maxWorkers = 2
	maxHolders = 4
	maxKnown   = 3
)

// moment is a time or a token. 0 stands for 0, any other value for epoch + moment. So
// what was never written lies far in the past, as in a store.
type moment int8

const (
	epoch          = 1_000_000
	start   moment = 8  // the center's clock in the first state
	horizon moment = 31 // no permission lies above it
)

func (m moment) ms() int64 {
	if m == 0 {
		return 0
	}
	return epoch + int64(m)
}

func momentOf(ms int64) moment {
	if ms == 0 {
		return 0
	}
	if d := ms - epoch; d > 0 && d < 128 {
		return moment(d)
	}
	panic(fmt.Sprintf("model: %d is not a moment of it: lower the bounds", ms))
}

// span is a set of moments.
type span uint32

// rangeOf is the span (floor, ceiling].
func rangeOf(floor, ceiling moment) span { return upTo(ceiling) &^ upTo(floor) }

func upTo(m moment) span { return 1<<(min(m, horizon)+1) - 1 }

// top is the last moment of s, or 0.
func (s span) top() moment { return moment(max(0, bits.Len32(uint32(s))-1)) }

func (s span) String() string {
	var parts []string
	for s != 0 {
		first := bits.TrailingZeros32(uint32(s))
		n := bits.TrailingZeros32(^(uint32(s) >> first))
		parts = append(parts, fmt.Sprintf("(%d,%d]", first-1, first+n-1))
		s &^= (1<<n - 1) << first
	}
	return strings.Join(parts, "+")
}

type slot struct {
	hasLease, hasMark           bool
	expires, mark, floor, token moment
	owner                       int8 // holder + 1; 0: nobody
	hold, used                  int8
}

// store is a rules.Namespace without the parts that only people read.
type store struct {
	maxTTL      int8 // of the pin; 0: not on record
	former      int8 // of its change, below 0 if it falls to that; 0: none
	at          moment
	incarnation int8
	quarantine  moment
	slots       [maxWorkers]slot
}

// grant is a lease.Grant of a holder. Token 0 means none.
type grant struct {
	worker                int8
	token, floor, ceiling moment
}

type phase int8

const (
	asking  phase = iota // has sent an acquire
	holding              // has a grant
	lost                 // has learned so: it uses up what it has and does not renew
	stopped              // issues no more, and has sent a release
)

// holder is one borrow with one owner nonce. A process that borrows again after a loss
// is another holder.
type holder struct {
	may     [maxWorkers]span // all that it was granted and has not given back
	phase   phase
	ttl     int8
	maxTTL  int8
	apart   int8            // its clock, where the callers' clocks count
	known   [maxKnown]grant // newest first; renewals of these may be under way
	used    moment          // stopped: the last use in its release
	pending [2]grant        // a renewal's reply under way: the grant renewed, the new one
}

type state struct {
	ticks, steps, losses int8 // how often the clock advanced and stepped back; number of losses
	incarnation          int8
	unseen               bool // no verb has looked since the last loss
	store, replica       store
	holders              [maxHolders]holder
}

// canon sorts the holders independently of their names, since holders are alike. It
// returns which holder of s is at which place. The encoding of each holder that it
// leaves in m.scratch is part of what append writes.
func (m *model) canon(s *state) (moved [maxHolders]int8) {
	var keys [maxHolders][]byte
	for i := range s.holders[:m.holders()] {
		moved[i] = int8(i)
		key := s.holders[i].append(m.scratch[i][:0], m)
		for _, st := range []*store{&s.store, &s.replica} {
			for w := range m.Workers {
				key = append(key, b(st.slots[w].owner == int8(i)+1))
			}
		}
		m.scratch[i], keys[i] = key, key
	}
	order := moved[:m.holders()]
	if slices.IsSortedFunc(order, func(i, j int8) int { return bytes.Compare(keys[i], keys[j]) }) {
		return moved
	}
	slices.SortStableFunc(order, func(i, j int8) int { return bytes.Compare(keys[i], keys[j]) })
	old := *s
	var place [maxHolders + 1]int8
	for to, from := range order {
		s.holders[to], place[from+1] = old.holders[from], int8(to)+1
	}
	for _, st := range []*store{&s.store, &s.replica} {
		for w := range m.Workers {
			st.slots[w].owner = place[st.slots[w].owner]
		}
	}
	return moved
}

// append encodes a state in a few bytes; equal bytes mean equal states. moved is the
// result of canon, called just before.
func (s *state) append(buf []byte, m *model, moved [maxHolders]int8) []byte {
	buf = append(buf, byte(s.ticks), byte(s.steps), byte(s.losses), byte(s.incarnation), b(s.unseen))
	buf = s.store.append(buf, m)
	if m.Failover {
		buf = s.replica.append(buf, m)
	}
	for _, i := range moved[:m.holders()] {
		buf = append(buf, m.scratch[i]...)
	}
	return buf
}

func (st *store) append(buf []byte, m *model) []byte {
	buf = append(buf, byte(st.maxTTL), byte(st.former), byte(st.at), byte(st.incarnation), byte(st.quarantine))
	for _, t := range st.slots[:m.Workers] {
		buf = append(buf, b(t.hasLease)|b(t.hasMark)<<1|byte(t.owner)<<2, byte(t.expires), byte(t.mark), byte(t.floor), byte(t.token), byte(t.hold), byte(t.used))
	}
	return buf
}

func (h *holder) append(buf []byte, m *model) []byte {
	buf = append(buf, byte(h.phase)|byte(h.ttl)<<2|byte(h.maxTTL)<<4, byte(h.used))
	if m.Apart != nil {
		buf = append(buf, byte(h.apart))
	}
	for _, p := range h.may[:m.Workers] {
		buf = append(buf, byte(p), byte(p>>8), byte(p>>16), byte(p>>24))
	}
	for _, g := range h.known[:m.Known] {
		buf = g.append(buf)
	}
	if m.LateReplies {
		buf = h.pending[1].append(h.pending[0].append(buf))
	}
	return buf
}

func (g *grant) append(buf []byte) []byte {
	return append(buf, byte(g.worker), byte(g.token), byte(g.floor), byte(g.ceiling))
}

func b(v bool) byte {
	if v {
		return 1
	}
	return 0
}
