package segment_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/snowlease/snowlease/numbers/segment"
)

// BenchmarkNextID compares NextID with the atomic add that it cannot beat.
func BenchmarkNextID(b *testing.B) {
	i := open(b, segment.Config{Step: 1_000_000}, segment.NewMemory())
	var n atomic.Int64
	for _, way := range []struct {
		name string
		next func() error
	}{
		{"segment", func() error { _, err := i.NextID(); return err }},
		{"atomic add", func() error { n.Add(1); return nil }},
	} {
		b.Run(way.name+"/alone", func(b *testing.B) {
			for range b.N {
				if err := way.next(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(way.name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					if err := way.next(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		})
	}
}

func BenchmarkNextIDs(b *testing.B) {
	for _, size := range []int{10, 1000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			i := open(b, segment.Config{Step: 1_000_000}, segment.NewMemory())
			dst := make([]int64, size)
			for range b.N {
				if err := i.NextIDs(context.Background(), dst); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*size), "ns/number")
		})
	}
}
