package measure

import (
	"math/bits"
	"sync"
	"time"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

// Latencies are nanoseconds, of single calls with the two readings of the clock around
// them.
type Latencies struct {
	P50, P99, P999, P9999, Max float64
	Stalls                     float64 // calls of Stall and more, a second
}

// Stall is longer than any call takes that neither waits nor is interrupted.
const Stall = 2048 * time.Nanosecond

// A histogram counts durations to one part in 32.
type histogram struct {
	counts [64 * 32]int64
	n      int64
	max    int64
}

func (h *histogram) add(ns int64) {
	h.counts[slot(ns)]++
	h.n++
	h.max = max(h.max, ns)
}

// slot counts to 63 by ones, and from there on 32 to each power of two.
func slot(ns int64) int {
	e := max(0, bits.Len64(uint64(ns))-6)
	return e*32 + int(ns>>e)
}

func (h *histogram) merge(o *histogram) {
	for i, c := range o.counts {
		h.counts[i] += c
	}
	h.n += o.n
	h.max = max(h.max, o.max)
}

// at returns the middle of the slot of the share p.
func (h *histogram) at(p float64) float64 {
	rank := int64(p * float64(h.n))
	for i, c := range h.counts {
		if rank -= c; rank < 0 {
			if i < 64 {
				return float64(i)
			}
			e := i/32 - 1
			return (float64(i-e*32) + 0.5) * float64(int64(1)<<e)
		}
	}
	return float64(h.max)
}

func (h *histogram) latencies() Latencies {
	return Latencies{P50: h.at(0.5), P99: h.at(0.99), P999: h.at(0.999), P9999: h.at(0.9999), Max: float64(h.max)}
}

// stalls returns how many durations were Stall or more.
func (h *histogram) stalls() (n int64) {
	for _, c := range h.counts[slot(int64(Stall)):] {
		n += c
	}
	return n
}

// latency measures each call, while all goroutines run.
func latency(src peers.Source, t Task) Sample {
	var all histogram
	var mu sync.Mutex
	elapsed := together(t.Goroutines, func(_ int, start time.Time) {
		next, h := src.Mine().Next, new(histogram)
		for then := time.Since(start); h.n == 0 || then < t.For; {
			before := time.Since(start)
			next()
			then = time.Since(start)
			h.add(int64(then - before))
		}
		mu.Lock()
		defer mu.Unlock()
		all.merge(h)
	})
	l := all.latencies()
	l.Stalls = float64(all.stalls()) / elapsed.Seconds()
	return Sample{NS: float64(elapsed) / float64(all.n), IDs: all.n, Latencies: l}
}
