package generator

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

// BenchmarkSteady issues 2,000 ids per millisecond from two goroutines and reports how
// often a rush begins.
func BenchmarkSteady(b *testing.B) {
	g := New(snowflake.Layout{})
	var begun atomic.Int64
	g.at = func(p point) {
		if p == beganRush {
			begun.Add(1)
		}
	}
	now := time.Now().UnixMilli()
	_, err := g.Adopt(Range{Worker: 1, Floor: now, Ceiling: now + 1e9, Now: now, At: g.Elapsed()})
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
