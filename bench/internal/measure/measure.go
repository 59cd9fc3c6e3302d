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

// A Task describes one measurement.
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
	Paced   What = "paced"   // the same in longer turns, once no lead over the clock is left
	Steady  What = "steady"  // ids in each tenth of a second, all checked for order
	Latency What = "latency" // of single calls
	Burst   What = "burst"   // flat out for half of the time, then one each 100 µs
	Unique  What = "unique"  // everything that many goroutines made
)

// A Sample holds one measurement. Fields that do not apply to its kind are zero.
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

// Turns of Pairs. With GOMAXPROCS 1, a goroutine that a generator starts waits up to 10 ms
// for the processor. All of a sample lies within the lead that ours has over the clock.
const (
	runIn = 12 * time.Millisecond
	turn  = 4 * time.Millisecond
)

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
		return loop(func() func(int) { return src.Mine().Loop }, t), nil
	case Batches:
		s = loop(func() func(int) { return fill(src.Mine(), t.Batch) }, t)
		s.NS, s.IDs = s.NS/float64(t.Batch), s.IDs*int64(t.Batch)
		return s, nil
	case Pairs, Paced:
		other, err := peers.Named(t.Against)
		if err != nil {
			return s, err
		}
		against, err := other.Open()
		if err != nil {
			return s, err
		}
		if t.What == Paced {
			return pairs(src, against, t, t.For/6, t.For/6), nil
		}
		return pairs(src, against, t, runIn, turn), nil
	case Steady:
		return steady(src, m.Rises, t), nil
	case Latency:
		return latency(src, t), nil
	case Burst:
		return burst(src, m.Rises, t), nil
	case Unique:
		return unique(src, m, t), nil
	}
	return s, fmt.Errorf("measure: there is no %q", t.What)
}

// fill makes batches for one goroutine.
func fill(src peers.Source, batch int) func(int) {
	dst := make([]int64, batch)
	return func(n int) {
		for range n {
			src.Fill(dst)
		}
	}
}

// loop is the wall time an id takes, and what it allocates. Each goroutine has a loop
// of its own.
func loop(mine func() func(int), t Task) Sample {
	n := chunk(mine(), min(200*time.Microsecond, t.For/20))
	var ids atomic.Int64
	var before, after runtime.MemStats
	runtime.GC()
	loops := make([]func(int), t.Goroutines)
	for i := range loops {
		loops[i] = mine()
	}
	runtime.ReadMemStats(&before)
	elapsed := together(t.Goroutines, func(i int, start time.Time) {
		f := loops[i]
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

// pairs measures a and b in turn and returns their ratios: whatever else the machine
// does in a run falls on both. A turn counts after a start of runIn, so that each is at
// its pace.
func pairs(a, b peers.Source, t Task, runIn, turn time.Duration) (s Sample) {
	const some = 500 * time.Microsecond
	na, nb := chunk(a.Mine().Loop, some), chunk(b.Mine().Loop, some)
	slice := func(src peers.Source, n int) float64 {
		var mu sync.Mutex
		var rate float64 // of all goroutines
		together(t.Goroutines, func(_ int, start time.Time) {
			f := src.Mine().Loop
			for time.Since(start) < runIn {
				f(n)
			}
			var made int
			began := time.Since(start)
			now := began
			for made == 0 || now < runIn+turn {
				f(n)
				made += n
				now = time.Since(start)
			}
			mu.Lock()
			defer mu.Unlock()
			rate += float64(made) / float64(now-began)
		})
		return 1 / rate
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

// together starts f in several goroutines at the same time, and returns how long all took.
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
