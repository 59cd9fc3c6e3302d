package search

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var (
	first = flag.Uint64("first", 1, "first seed")
	count = flag.Uint64("count", 120_000, "how many seeds; about a minute of a core by default")
)

// known are seeds at which the search found mutants of the rules late. They come first.
var known = []uint64{7_640, 9_440, 13_854, 27_660, 91_013}

// TestSearch checks that no seed leads to a worker id twice.
func TestSearch(t *testing.T) {
	t.Parallel()
	all := make([]uint64, 50)
	for i := range all {
		all[i] = uint64(i)
	}
	if testing.Short() {
		*count = min(*count, 1000)
	}
	seeds := slices.Clone(known)
	for i := range *count {
		seeds = append(seeds, *first+i)
	}
	for _, seed := range seeds {
		if n, err := play(seed, all, nil); err != nil {
			t.Fatal(report(seed, all[:n]))
		}
	}
}

// play takes steps of a seed until one breaks a rule, and returns how many it took. Each step has
// dice of its own, so that it stays the same if another one is left out.
func play(seed uint64, steps []uint64, trace *strings.Builder) (n int, err error) {
	dice := rand.NewPCG(seed, 1<<32)
	w := newWorld(rand.New(dice))
	if trace != nil {
		w.tell = func(format string, args ...any) {
			fmt.Fprintf(trace, "%d: %s\n    %+v\n", w.now, fmt.Sprintf(format, args...), w.ns().Meta)
			for i, s := range w.ns().Slots {
				fmt.Fprintf(trace, "    w%d: token %d floor %d mark %d expires %d hold %d used %d\n", i, s.Token, s.Floor, s.Mark, s.Expires, s.Hold, s.Used)
			}
		}
	}
	for i, step := range steps {
		dice.Seed(seed, step)
		if err := w.step(); err != nil {
			return i + 1, err
		}
	}
	return len(steps), nil
}

// report returns the history of a seed that breaks a rule, without the steps that it does not need.
func report(seed uint64, steps []uint64) string {
	for i := len(steps) - 1; i >= 0; i-- {
		fewer := slices.Delete(slices.Clone(steps), i, i+1)
		if n, err := play(seed, fewer, nil); err != nil {
			steps = fewer[:n]
			i = len(steps)
		}
	}
	var trace strings.Builder
	_, err := play(seed, steps, &trace)
	return fmt.Sprintf("seed %d: %v\nthis history alone: go -C proof test ./search -args -first %[1]d -count 1\n%[3]s", seed, err, trace.String())
}
