package hostseq

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/snowflake"
)

// burst is a process that takes ids on a stateless center in several loans.
func burst(t *testing.T, s *site, loans, ids int) []int64 {
	t.Helper()
	cfg := Config{}
	stateless(&cfg)
	byHand(2)(&cfg)
	c, err := New(cfg, s.layout, WithClock(func() time.Time { return time.UnixMilli(s.ms.Load()) }))
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close()) }()
	var all []int64
	for range loans {
		began := s.ms.Load()
		gen, err := generator.New(s.layout, generator.WithClock(func() time.Duration { return time.Duration(s.ms.Load()-began) * time.Millisecond }))
		require.NoError(t, err)
		g := s.acquire(c)
		_, err = gen.Adopt(rangeOf(g, gen.Elapsed()))
		require.NoError(t, err)
		got := make([]int64, ids)
		require.NoError(t, gen.NextIDs(t.Context(), got))
		require.NoError(t, c.Release(t.Context(), g, gen.Stop()))
		all = append(all, got...)
	}
	return all
}

func requireDistinct(t *testing.T, lists ...[]int64) {
	t.Helper()
	seen, twice := map[int64]bool{}, 0
	for _, ids := range lists {
		for _, id := range ids {
			if seen[id] {
				twice++
			}
			seen[id] = true
		}
	}
	require.Zero(t, twice)
}

// TestStatelessCoarseTicks: a range that begins within a tick reaches a tick further.
func TestStatelessCoarseTicks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.layout = snowflake.Layout{TimeUnit: time.Second, TimeBits: 32, WorkerBits: 10, SequenceBits: 10}
	// The loan begins 2.002 s after the center is asked: 100 ms into a tick.
	s.pass(98 * time.Millisecond)
	first := burst(t, s, 1, 3*1024-300) // into the third tick
	s.pass(50 * time.Millisecond)       // the next process asks in the tick of the former loan
	requireDistinct(t, first, burst(t, s, 1, 1024))
}

// TestStatelessLoansInTurn: the loans of one center do not run ahead by a burst each.
func TestStatelessLoansInTurn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.layout = snowflake.JSSafe()
	first := burst(t, s, 4, 60_000) // nearly a second each, while the clock stands still
	s.pass(50 * time.Millisecond)
	requireDistinct(t, first, burst(t, s, 1, 60_000))
}
