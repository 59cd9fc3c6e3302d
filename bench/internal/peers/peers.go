// Package peers makes every generator that is measured here, at its default and at its
// best setting, beside the floors that none of them can be faster than.
package peers

import (
	"fmt"
	"slices"
)

// A Kind says what a Maker is compared as.
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
	// Best tells the setting of a peer in which it is fastest.
	Best bool
	// Rises tells that each id is a number greater than all before it.
	Rises bool
	// ByTime tells that ids are ordered by the time they were made at.
	ByTime bool
	// Bits of an id; 0 for what makes none.
	Bits int
	Open func() (Source, error)
}

// A Source makes ids. All is safe for concurrent use.
type Source struct {
	// Loop makes n ids by direct calls, as a program does.
	Loop func(n int)
	// Next makes one, or a hash of it where it has more than 64 bits.
	Next func() int64
	// Fill makes len(dst): by one call where the generator has such a call.
	Fill func(dst []int64)
	// Batches tells that Fill is one call.
	Batches bool
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
