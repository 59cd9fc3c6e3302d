package counter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/snowflake"
)

// BenchmarkSequence measures an id from a Redis on this host. The layout has more ids
// than the benchmark can request.
func BenchmarkSequence(b *testing.B) {
	client := redistest.NewReal(b).Admin
	at := func(prefetch int64) *counter.Counter {
		return sequence(b, client, func(c *counter.Config) {
			c.Layout, c.MaxAhead, c.Prefetch = snowflake.Layout{}, time.Second, prefetch
			c.Skew = time.Millisecond
		})
	}
	one := func(s *counter.Counter) func(*testing.B) {
		return func(b *testing.B) {
			for b.Loop() {
				if _, err := s.NextID(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	parallel := func(s *counter.Counter) func(*testing.B) {
		return func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := s.NextID(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
	}
	batch := func(s *counter.Counter) func(*testing.B) {
		return func(b *testing.B) {
			ids := make([]int64, 1000)
			for b.Loop() {
				require.NoError(b, s.NextIDs(b.Context(), ids))
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/id")
		}
	}
	for name, s := range map[string]*counter.Counter{"prefetch": at(0), "strict": at(1)} {
		b.Run(name, one(s))
		b.Run(name+"/parallel", parallel(s))
		b.Run(name+"/1000", batch(s))
	}
}
