// Package peers makes every generator that is measured here, at its default and at its
// best setting, and the floors, which none of them can beat.
package peers

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// A Kind is the role of a Maker in comparisons.
type Kind int

// The kinds.
const (
	Floor Kind = iota
	Ours
	Peer
)

// A Maker is a generator with a setting. Some peers keep their settings in package
// variables: a process opens one Maker only.
type Maker struct {
	Name, Setting string
	Kind          Kind
	// Best marks the fastest setting of a peer.
	Best bool
	// Rises reports whether each id is a number greater than all before it.
	Rises bool
	// ByTime reports whether ids are ordered by the time at which they were made.
	ByTime bool
	// Bits is the length of an id, or 0 for a floor.
	Bits int
	// Layout is zero if nothing limits the ids of a tick.
	Layout Layout
	Open   func() (Source, error)
}

// A Layout limits how many ids there are.
type Layout struct {
	Worker, Sequence int // bits
	Tick             time.Duration
}

// Equal is the layout that most generators can have.
var Equal = Layout{10, 12, time.Millisecond}

// PerSecond returns how many ids a second l has for each worker, or 0 if it is zero.
func (l Layout) PerSecond() float64 {
	if l.Tick == 0 {
		return 0
	}
	return math.Exp2(float64(l.Sequence)) / l.Tick.Seconds()
}

// A Source makes ids. All is safe for concurrent use, except where each goroutine needs
// its own: see Mine.
type Source struct {
	// Loop makes n ids by direct calls, as a program does.
	Loop func(n int)
	// Next makes one, or a hash of it where it has more than 64 bits.
	Next func() int64
	// Fill makes len(dst): by one call where the generator has such a call.
	Fill func(dst []int64)
	// Batches reports whether Fill is one call.
	Batches bool

	own func() Source
}

// Mine returns the source of one goroutine.
func (s Source) Mine() Source {
	if s.own == nil {
		return s
	}
	return s.own()
}

func (m Maker) String() string {
	if m.Setting == "" {
		return m.Name
	}
	return m.Name + ", " + m.Setting
}

// All returns the floors, ours, and the peers, in the order of tables.
func All() []Maker { return slices.Concat(floors(), ours(), others()) }

// Named returns the maker that String gives the name of.
func Named(name string) (Maker, error) {
	for _, m := range All() {
		if m.String() == name {
			return m, nil
		}
	}
	return Maker{}, fmt.Errorf("peers: there is no %q", name)
}

// each is Fill of a generator that has no batches.
func each(next func() int64) func([]int64) {
	return func(dst []int64) {
		for i := range dst {
			dst[i] = next()
		}
	}
}
