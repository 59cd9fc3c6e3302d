package fleet_test

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/snowflake"
)

// A tally is a set of ids. Ids lie close together, so it has a bit for each possible id.
type tally struct {
	base  int64 // the least possible id
	seen  []uint64
	ids   int64
	twice []int64
}

// add adds an id to the set.
func (s *tally) add(id int64) {
	at := id - s.base
	word, bit := at>>6, uint64(1)<<(at&63)
	if word >= int64(len(s.seen)) {
		s.seen = append(s.seen, make([]uint64, max(word+1-int64(len(s.seen)), int64(len(s.seen)), 1<<17))...)
	}
	if s.seen[word]&bit != 0 {
		s.twice = append(s.twice, id)
	}
	s.seen[word] |= bit
	s.ids++
}

// collect reads the ids of all processes that have ended. The ids of each process must
// rise, have a worker id that it held, and lie within its grants.
func (c *crew) collect() *tally {
	c.t.Helper()
	lent := map[*member][]loan{}
	first := int64(1) << 62
	for _, m := range c.members {
		require.False(c.t, m.running(), "%v", m)
		require.NoError(c.t, m.err)
		lent[m] = m.loans()
		if w := m.order.Config.Local.Worker; w != nil { // no center
			lent[m] = []loan{{worker: *w, floor: layout.Epoch, ceiling: 1 << 62}}
			continue
		}
		for _, l := range lent[m] {
			first = min(first, l.floor)
		}
	}
	if first == 1<<62 {
		first = c.began.UnixMilli() - 1
	}
	l := c.members[0].order.Config.Layout // those of a crew divide equally many bits
	tick, _ := l.Ticks(first, first+10)
	s := &tally{base: tick << (l.WorkerBits + l.SequenceBits)}
	for _, m := range c.members {
		require.NoError(c.t, s.read(m, lent[m]), "%v", m)
	}
	return s
}

// read reads the id file of a process.
func (s *tally) read(m *member, lent []loan) error {
	file, err := os.Open(m.order.IDs)
	if errors.Is(err, os.ErrNotExist) { // it never issued
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 1<<20)
	last, prefix, l := int64(0), int64(-1), m.order.Config.Layout
	for {
		raw, err := in.Peek(8)
		if err != nil {
			if errors.Is(err, io.EOF) { // a kill cut off the rest
				return nil
			}
			return err
		}
		id := int64(binary.LittleEndian.Uint64(raw))
		if id <= last {
			return fmt.Errorf("id %d came after %d", id, last)
		}
		last = id
		if id>>l.SequenceBits != prefix { // the ids of one tick and worker share a prefix
			prefix = id >> l.SequenceBits
			if err := covered(l, id, lent); err != nil {
				return err
			}
		}
		if id < s.base {
			return fmt.Errorf("id %d lies below %d, where the test began", id, s.base)
		}
		s.add(id)
		if _, err := in.Discard(8); err != nil {
			return err
		}
	}
}

// covered returns what is wrong with an id, given the loans of its process.
func covered(l snowflake.Layout, id int64, lent []loan) error {
	parts, err := l.Decode(id)
	if err != nil {
		return err
	}
	ms := parts.Time.UnixMilli()
	if !slices.ContainsFunc(lent, func(l loan) bool {
		return l.worker == parts.Worker && l.floor < ms && ms <= l.ceiling
	}) {
		return fmt.Errorf("id %d (worker %d, %d ms) lies outside of what the process was lent: %+v", id, parts.Worker, ms, lent)
	}
	return nil
}

// check requires of processes that have ended that no id was issued twice, and that no
// two loans of a worker id share a millisecond.
func (c *crew) check() *tally {
	c.t.Helper()
	s := c.collect()
	require.Empty(c.t, s.twice[:min(10, len(s.twice))], "%d of %d ids were issued twice", len(s.twice), s.ids)
	var all []loan
	for _, m := range c.members {
		all = append(all, m.loans()...)
	}
	slices.SortFunc(all, func(a, b loan) int { return cmp.Compare(a.floor, b.floor) })
	ends := map[loan]int64{} // the end of the last one, by namespace and worker id
	for _, l := range all {
		if l.floor == l.ceiling { // given back unused
			continue
		}
		of := loan{namespace: l.namespace, worker: l.worker}
		require.GreaterOrEqual(c.t, l.floor, ends[of], "lent up to %d, and then %+v", ends[of], l)
		ends[of] = max(ends[of], l.ceiling)
	}
	return s
}

func TestTally(t *testing.T) {
	t.Parallel()
	s := &tally{base: 1000}
	for _, id := range []int64{1000, 1063, 1064, 1 << 28, 1063, 1001, 1000} {
		s.add(id)
	}
	require.Equal(t, []int64{1063, 1000}, s.twice)
	require.EqualValues(t, 7, s.ids)
}
