package measure

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

// TestSamples: each kind of sample measures something.
func TestSamples(t *testing.T) {
	for _, what := range []What{Loop, Batches, Pairs, Paced, Steady, Latency, Burst, Unique} {
		t.Run(string(what), func(t *testing.T) {
			s, err := Run(Task{
				What: what, Maker: peers.Generator, Against: peers.ClockCAS,
				Procs: 2, Goroutines: 2, For: 200 * time.Millisecond, Batch: 10, Garbage: true,
			})
			require.NoError(t, err)
			require.Zero(t, s.Disorder)
			require.Zero(t, s.Duplicates)
			if what == Pairs || what == Paced {
				require.NotEmpty(t, s.Ratios)
				return
			}
			require.Positive(t, s.IDs)
			if what == Latency || what == Burst {
				l := s.Latencies
				require.IsNonDecreasing(t, []float64{1, l.P50, l.P99, l.P999, l.P9999, l.Max * 1.02})
			}
		})
	}
	_, err := Run(Task{What: "love", Maker: peers.Generator, Procs: 1})
	require.ErrorContains(t, err, "love")
	_, err = Run(Task{Maker: "nobody", Procs: 1})
	require.ErrorContains(t, err, "nobody")
}

// TestFaultsAreSeen: equal ids, and ids that do not rise.
func TestFaultsAreSeen(t *testing.T) {
	task := Task{Procs: 2, Goroutines: 2, For: 100 * time.Millisecond}
	src := peers.Source{Next: func() int64 { return 7 }, Fill: func(dst []int64) { clear(dst) }}
	s := unique(src, peers.Maker{Rises: true}, task)
	require.Equal(t, s.IDs-1-min(1, s.IDs/5_000), s.Duplicates)
	require.Positive(t, s.Disorder)
	require.Positive(t, steady(src, true, task).Disorder)
	require.Zero(t, steady(src, false, task).Disorder)
}

// TestHistogram: a quantile is right to one part in 32.
func TestHistogram(t *testing.T) {
	for _, most := range []int64{50, 64, 1000, 1e6, 1e9} {
		var h histogram
		for i := range int64(1000) {
			h.add(i * most / 1000)
		}
		for p, got := range map[float64]float64{0.5: h.latencies().P50, 0.99: h.latencies().P99, 0.999: h.latencies().P999} {
			require.InDelta(t, p*float64(most), got, 1+float64(most)/32, "%v of %d", p, most)
		}
		require.Equal(t, float64(999*most/1000), h.latencies().Max)
		require.Equal(t, 1000-min(1000, (int64(Stall)*1000+most-1)/most), h.stalls())
	}
}
