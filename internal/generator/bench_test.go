package generator

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

func BenchmarkNextID(b *testing.B) {
	for _, l := range []struct {
		name string
		snowflake.Layout
	}{{"default", snowflake.Layout{}}, {"wide", snowflake.Wide()}} {
		g, err := New(l.Layout)
		require.NoError(b, err)
		now := time.Now().UnixMilli()
		_, err = g.Adopt(Range{Worker: 1, Floor: now, Ceiling: now + 1e9, Now: now, At: g.Elapsed()})
		require.NoError(b, err)
		b.Run(l.name+"/serial", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = g.NextID()
			}
		})
		b.Run(l.name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					_, _ = g.NextID()
				}
			})
		})
	}
	// The minimum cost of an id: reading the clock and one compare-and-swap.
	start := time.Now()
	var w atomic.Int64
	floor := func() {
		now := int64(time.Since(start))
		for {
			old := w.Load()
			if w.CompareAndSwap(old, max(old+1, now)) {
				return
			}
		}
	}
	b.Run("floor/serial", func(b *testing.B) {
		for b.Loop() {
			floor()
		}
	})
	b.Run("floor/parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				floor()
			}
		})
	})
}

func BenchmarkNextIDs(b *testing.B) {
	g, err := New(snowflake.Layout{SequenceBits: 20, TimeBits: 38})
	require.NoError(b, err)
	now := time.Now().UnixMilli()
	_, err = g.Adopt(Range{Worker: 1, Floor: now, Ceiling: now + 1e9, Now: now, At: g.Elapsed()})
	require.NoError(b, err)
	ids := make([]int64, 1000)
	for b.Loop() {
		if err := g.NextIDs(context.Background(), ids); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/id")
}

// BenchmarkSteady issues 2,000 ids per millisecond from two goroutines and reports how
// often a rush begins.
func BenchmarkSteady(b *testing.B) {
	g, err := New(snowflake.Layout{})
	require.NoError(b, err)
	var begun atomic.Int64
	g.at = func(p point) {
		if p == beganRush {
			begun.Add(1)
		}
	}
	now := time.Now().UnixMilli()
	_, err = g.Adopt(Range{Worker: 1, Floor: now, Ceiling: now + 1e9, Now: now, At: g.Elapsed()})
	require.NoError(b, err)
	const batch = 100 // every 100 µs
	start := time.Now()
	issue := func() {
		for round := range b.N {
			for time.Since(start) < time.Duration(round)*100*time.Microsecond {
			}
			for range batch {
				_, _ = g.NextID()
			}
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		issue()
	}()
	issue()
	<-done
	b.ReportMetric(float64(begun.Load())/time.Since(start).Seconds(), "rushes/s")
}
