// Package segment_test compares numbers from prefetched segments with wuid, which takes
// the high bits of its numbers from a store and counts the low ones, with an atomic add,
// which neither can beat, and with a mutex.
package segment_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/edwingeng/slog"
	"github.com/edwingeng/wuid/callback/wuid"

	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

// A way returns what issues the next number.
type way struct {
	name string
	open func(testing.TB) func() int64
}

var ways = []way{
	{"segment", func(t testing.TB) func() int64 {
		i, err := numbers.OpenSegment(t.Context(), new(segmentcheck.Memory), numbers.SegmentConfig{Namespace: "shop", Name: "bench"})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = i.Close() })
		return func() int64 {
			n, err := i.Next(t.Context())
			if err != nil {
				t.Error(err)
			}
			return n
		}
	}},
	{"wuid", func(t testing.TB) func() int64 {
		var high atomic.Int64
		w := wuid.NewWUID("bench", slog.NewDumbLogger())
		if err := w.LoadH28WithCallback(func() (int64, func(), error) { return high.Add(1), nil, nil }); err != nil {
			t.Fatal(err)
		}
		return w.Next
	}},
	{"atomic add", func(testing.TB) func() int64 {
		var n atomic.Int64
		return func() int64 { return n.Add(1) }
	}},
	{"mutex", func(testing.TB) func() int64 {
		var mu sync.Mutex
		var n int64
		return func() int64 {
			mu.Lock()
			defer mu.Unlock()
			n++
			return n
		}
	}},
}

func BenchmarkAlone(b *testing.B) {
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			next := way.open(b)
			for b.Loop() {
				next()
			}
		})
	}
}

func BenchmarkParallel(b *testing.B) {
	for _, way := range ways {
		b.Run(way.name, func(b *testing.B) {
			next := way.open(b)
			b.RunParallel(func(p *testing.PB) {
				for p.Next() {
					next()
				}
			})
		})
	}
}
