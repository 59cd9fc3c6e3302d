package peers

import (
	"sync"
	"sync/atomic"
	"time"
)

// A floor does the least that a generator must do. Its methods are not inlined, like
// those of all generators.
type floor struct {
	base time.Time
	_    [64]byte // keeps written fields off the cache line of read ones
	n    atomic.Int64
	mu   sync.Mutex
	m    int64
	_    [64]byte
}

//go:noinline
func (f *floor) nothing() int64 { return 0 }

//go:noinline
func (f *floor) clock() int64 { return int64(time.Since(f.base)) }

//go:noinline
func (f *floor) add() int64 { return f.n.Add(1) }

//go:noinline
func (f *floor) cas() int64 {
	for {
		last := f.n.Load()
		if f.n.CompareAndSwap(last, last+1) {
			return last + 1
		}
	}
}

// clockCAS is what a lock-free generator does that reads the clock for each id.
//
//go:noinline
func (f *floor) clockCAS() int64 {
	now := int64(time.Since(f.base))
	for {
		last := f.n.Load()
		next := max(now, last+1)
		if f.n.CompareAndSwap(last, next) {
			return next
		}
	}
}

// clockMutex is what a generator with a lock does.
//
//go:noinline
func (f *floor) clockMutex() int64 {
	f.mu.Lock()
	f.m = max(int64(time.Since(f.base)), f.m+1)
	m := f.m
	f.mu.Unlock()
	return m
}

// write does what a batch must do at least.
func write(dst []int64) {
	for i := range dst {
		dst[i] = int64(i)
	}
}

// Names of floors that figures are measured against.
const (
	TimerOnly = "nothing"
	Clock     = "time.Since"
	Add       = "one atomic add"
	CAS       = "one CAS"
	ClockCAS  = "time.Since + CAS"
)

func floors() []Maker {
	of := func(name string, rises bool, method func(*floor) int64, loop func(*floor, int)) Maker {
		return Maker{Name: name, Kind: Floor, Rises: rises, Open: func() (Source, error) {
			f := &floor{base: time.Now()}
			next := func() int64 { return method(f) }
			fill := each(next)
			if name == TimerOnly {
				fill = write
			}
			return Source{Next: next, Fill: fill, Loop: func(n int) { loop(f, n) }}, nil
		}}
	}
	return []Maker{
		of(TimerOnly, false, (*floor).nothing, func(f *floor, n int) {
			for range n {
				f.nothing()
			}
		}),
		of(Clock, false, (*floor).clock, func(f *floor, n int) {
			for range n {
				f.clock()
			}
		}),
		of(Add, true, (*floor).add, func(f *floor, n int) {
			for range n {
				f.add()
			}
		}),
		of(CAS, true, (*floor).cas, func(f *floor, n int) {
			for range n {
				f.cas()
			}
		}),
		of(ClockCAS, true, (*floor).clockCAS, func(f *floor, n int) {
			for range n {
				f.clockCAS()
			}
		}),
		of("a mutex around time.Since and an add", true, (*floor).clockMutex, func(f *floor, n int) {
			for range n {
				f.clockMutex()
			}
		}),
	}
}
