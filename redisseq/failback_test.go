package redisseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/segment"
)

// A pair is a master that fails over to its replica and back.
type pair struct {
	*store
	stale func()              // from here on the replica gets nothing
	back  func()              // the replica is promoted; the master follows it and is promoted again
	sleep func(time.Duration) // by the master's clock
}

// miniPair is what becomes of the data and the ids of such a master.
func miniPair(t testing.TB) pair {
	s := newMini(t)
	var restore func()
	return pair{
		store: s,
		stale: func() { restore = s.Snapshot(t) },
		back: func() {
			restore()
			s.replid.Add(1)
		},
		sleep: s.Sleep,
	}
}

func realPair(t testing.TB) pair {
	s, primary, replica := startReplicated(t)
	runID := func() string { return s.admin.InfoMap(t.Context(), "server").Item("Server", "run_id") }
	shift := time.Duration(0)
	return pair{
		store: s,
		stale: func() {
			replica.Follow(primary) // it has all so far
			replica.CutLink()
		},
		back: func() {
			before := runID()
			replica.Promote()
			primary.Follow(replica)
			primary.Promote()
			require.NotEmpty(t, before)
			require.Equal(t, before, runID())
		},
		sleep: func(d time.Duration) {
			shift += d
			primary.ShiftClock(shift)
		},
	}
}

// TestFailoverThereAndBack: what a master has acknowledged is lost when it becomes the
// replica of a promoted one that lagged. Promoted again before anybody asked the other,
// it is still the process with the run_id on record.
func TestFailoverThereAndBack(t *testing.T) {
	t.Parallel()
	attacks := map[string]func(t *testing.T, p pair){
		"leases": func(t *testing.T, p pair) {
			c := opened(t, p.store, pool(1))
			p.stale()
			g := acquire(t, c, pool(1))
			p.back()
			q := requireQuarantine(t, c, pool(1))
			require.Contains(t, q.Reason, "incarnation of the store changed")
			p.sleep(q.Wait() + time.Second)
			next := acquire(t, c, pool(1))
			require.Equal(t, g.Worker, next.Worker)
			require.GreaterOrEqual(t, next.Floor, g.Ceiling)
		},
		"leases, and the holder renews first": func(t *testing.T, p pair) {
			c := opened(t, p.store, pool(1))
			p.stale()
			g := acquire(t, c, pool(1))
			p.back()
			_, err := c.Renew(t.Context(), g)
			require.ErrorIs(t, err, lease.ErrLost)
			require.Greater(t, horizon(requireQuarantine(t, c, pool(1))), g.Ceiling)
		},
		"leases, and the holder is on record": func(t *testing.T, p pair) {
			c := opened(t, p.store, pool(1))
			g := acquire(t, c, pool(1))
			p.stale()
			p.sleep(time.Second)
			g = renew(t, c, g)
			p.back()
			q := requireQuarantine(t, c, pool(1))
			p.sleep(q.Wait() + time.Second)
			again := renew(t, c, g)
			require.Equal(t, horizon(q), again.Floor)
			require.Greater(t, again.Floor, g.Ceiling)
		},
		"sequence": func(t *testing.T, p pair) {
			r := rig{p.store, t, redisseq.SequenceScript()}
			process := func() *redisseq.Sequence {
				return r.member(func(c *redisseq.SequenceConfig) { c.Layout.SequenceBits, c.MaxAhead = 4, time.Minute })
			}
			m := process()
			p.sleep(r.requireQuarantine(m).Wait() + time.Second)
			r.reserve(m, 1)
			p.stale()
			_, last := r.reserve(m, 320_000) // 20 s of the lead
			p.back()
			p.sleep(r.requireQuarantine(process()).Wait() + time.Second)
			first, _ := r.reserve(process(), 1)
			require.Greater(t, first, last)
		},
		"segments": func(t *testing.T, p pair) {
			n := segments(t, p.store)
			require.NoError(t, n.Create(t.Context(), "orders", 1))
			p.stale()
			given, err := n.Reserve(t.Context(), numbers(10))
			require.NoError(t, err)
			p.back()
			_, err = n.Reserve(t.Context(), numbers(10))
			require.ErrorIs(t, err, redisseq.ErrChanged)
			require.NoError(t, n.Resume(t.Context(), "orders", given.Last))
			again, err := n.Reserve(t.Context(), numbers(10))
			require.NoError(t, err)
			require.Equal(t, given.Last+1, again.First)
		},
		"dispenser": func(t *testing.T, p pair) {
			b := new(segment.Memory)
			process := func() *segment.Issuer {
				return issuer(t, dispenser(t, p.client(t), b, ordered(100)), ordered(100))
			}
			one := process()
			all := take(t, one, 10)
			p.stale()
			all = append(all, take(t, one, 50)...)
			p.back()
			requireRising(t, append(all, take(t, process(), 60)...))
		},
	}
	for engine, start := range map[string]func(testing.TB) pair{"miniredis": miniPair, "redis": realPair} {
		for name, attack := range attacks {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				attack(t, start(t))
			})
		}
	}
}
