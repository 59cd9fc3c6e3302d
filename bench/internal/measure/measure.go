// Package measure takes one sample of one generator: so many nanoseconds an id, such
// latencies, so many ids twice. A sample is one process, so that neither the settings
// nor the heap of one generator reach another.
package measure

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/bench/internal/peers"
)

// A Task says what to measure.
type Task struct {
	What       What
	Maker      string // by its name
	Against    string // Pairs: the other one
	Goroutines int
	Procs      int // GOMAXPROCS
	For        time.Duration
	Batch      int     // Batches: ids a call
	Garbage    bool    // another goroutine allocates all the time
	Quota      float64 // of a core, for the whole process; 0: none
}

// What is measured.
type What string

// The kinds of samples.
const (
	Loop    What = "loop"    // ns an id, allocations
	Batches What = "batches" // ns an id of Fill
	Pairs   What = "pairs"   // ratios of two makers, in turn
	Steady  What = "steady"  // ids in each tenth of a second, all checked for order
	Latency What = "latency" // of single calls
	Burst   What = "burst"   // flat out for half of the time, then one each 100 µs
	Unique  What = "unique"  // everything that many goroutines made
)

// A Sample is what was measured. Fields that its kind has not are zero.
type Sample struct {
	NS            float64 // wall time an id
	IDs           int64
	Allocs, Bytes float64 // an id
	Ratios        []float64
	Windows       []int64 // ids in each tenth of a second
	Latencies     Latencies
	Duplicates    int64
	Disorder      int64 // ids that were not greater than the one before, of one goroutine
}

// Window is the length of one of Sample.Windows.
const Window = 100 * time.Millisecond

// Run takes the sample.
func Run(t Task) (s Sample, err error) {
	runtime.GOMAXPROCS(t.Procs)
	m, err := peers.Named(t.Maker)
	if err != nil {
		return s, err
	}
	src, err := m.Open()
	if err != nil {
		return s, err
	}
	if t.Garbage {
		defer allocate()()
	}
	switch t.What {
	case Loop:
		return loop(src.Loop, t), nil
	case Batches:
		fills := fill(src, t.Batch)
		s = loop(fills, t)
		s.NS, s.IDs = s.NS/float64(t.Batch), s.IDs*int64(t.Batch)
		return s, nil
	case Pairs:
		other, err := peers.Named(t.Against)
		if err != nil {
			return s, err
		}
		against, err := other.Open()
		if err != nil {
			return s, err
		}
		return pairs(src.Loop, against.Loop, t), nil
	case Steady:
		return steady(src, m.Rises, t), nil
	case Latency:
		return latency(src.Next, t), nil
	case Burst:
		return burst(src, m.Rises, t), nil
	case Unique:
		return unique(src, m, t), nil
	}
	return s, fmt.Errorf("measure: there is no %q", t.What)
}

// fill makes batches; each goroutine has its slice.
func fill(src peers.Source, batch int) func(int) {
	slices := sync.Pool{New: func() any { s := make([]int64, batch); return &s }}
	return func(n int) {
		dst := slices.Get().(*[]int64)
		for range n {
			src.Fill(*dst)
		}
		slices.Put(dst)
	}
}

// loop is the wall time an id takes, and what it allocates.
func loop(f func(int), t Task) Sample {
	n := chunk(f, min(200*time.Microsecond, t.For/20))
	var ids atomic.Int64
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	elapsed := together(t.Goroutines, func(_ int, start time.Time) {
		var made int64
		for made == 0 || time.Since(start) < t.For {
			f(n)
			made += int64(n)
		}
		ids.Add(made)
	})
	runtime.ReadMemStats(&after)
	made := float64(ids.Load())
	return Sample{
		NS: float64(elapsed) / made, IDs: ids.Load(),
		Allocs: float64(after.Mallocs-before.Mallocs) / made, Bytes: float64(after.TotalAlloc-before.TotalAlloc) / made,
	}
}

// pairs measures a and b in turn, each for some milliseconds, and returns their ratios:
// whatever else the machine does in a run falls on both.
func pairs(a, b func(int), t Task) (s Sample) {
	const turn = 4 * time.Millisecond
	na, nb := chunk(a, turn/8), chunk(b, turn/8)
	slice := func(f func(int), n int) float64 {
		var ids atomic.Int64
		elapsed := together(t.Goroutines, func(_ int, start time.Time) {
			var made int64
			for made == 0 || time.Since(start) < turn {
				f(n)
				made += int64(n)
			}
			ids.Add(made)
		})
		return float64(elapsed) / float64(ids.Load())
	}
	for start := time.Now(); len(s.Ratios) == 0 || time.Since(start) < t.For; {
		first, second := slice(a, na), slice(b, nb)
		third := slice(a, na) // b lies between the two, as a drift of the clock rate does
		s.Ratios = append(s.Ratios, (first+third)/2/second)
	}
	return s
}

// chunk returns how many ids take about as long as d.
func chunk(f func(int), d time.Duration) int {
	for n := 1; ; n *= 2 {
		start := time.Now()
		f(n)
		if time.Since(start) > d/2 || n >= 1<<20 {
			return n
		}
	}
}

// together runs f in goroutines that begin at once, and returns how long all took.
func together(goroutines int, f func(i int, start time.Time)) time.Duration {
	if goroutines == 1 {
		start := time.Now()
		f(0, start)
		return time.Since(start)
	}
	var ready, done sync.WaitGroup
	begin := make(chan time.Time)
	for i := range goroutines {
		ready.Add(1)
		done.Go(func() {
			ready.Done()
			f(i, <-begin)
		})
	}
	ready.Wait()
	start := time.Now()
	for range goroutines {
		begin <- start
	}
	done.Wait()
	return time.Since(start)
}

type tree struct{ left, right *tree }

func grow(depth int) *tree {
	if depth == 0 {
		return &tree{}
	}
	return &tree{grow(depth - 1), grow(depth - 1)}
}

// allocate keeps the garbage collector at work until what it returns is called.
func allocate() (stop func()) {
	var ended atomic.Bool
	var done sync.WaitGroup
	kept := make([]*tree, 16)
	done.Go(func() {
		for i := 0; !ended.Load(); i++ {
			kept[i%len(kept)] = grow(14)
		}
	})
	return func() {
		ended.Store(true)
		done.Wait()
		runtime.KeepAlive(kept)
	}
}
