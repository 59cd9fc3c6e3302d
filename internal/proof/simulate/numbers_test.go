package simulate_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/proof/simulate"
)

// sources says how many seeds CI runs on each source of numbers.
var sources = []struct {
	name  string
	of    simulate.Source
	seeds int
}{
	{"sequence", simulate.Sequence, 120},
	{"sql segments", simulate.SQLSegments, 40},
	{"redis segments", simulate.RedisSegments, 60},
	{"dispenser", simulate.Dispenser, 60},
	{"past", simulate.Past, 40},
}

// TestSequenceSeeds: no rule of numbers is broken.
func TestSequenceSeeds(t *testing.T) {
	for _, source := range sources {
		n := source.seeds
		if *count > 0 {
			n = *count
		}
		for shard := range min(shards, n) {
			t.Run(fmt.Sprintf("%s/%d", source.name, shard), func(t *testing.T) {
				t.Parallel()
				var sum simulate.NumberTally
				for seed := *first + shard; seed < *first+n; seed += shards {
					r := simulate.RunNumbers(t, simulate.NumberPlanOf(source.of, seed), simulate.NumberSubject{})
					if sum.Add(r); !r.OK() {
						t.Fatalf("seed %d\nthis run alone: go test -run 'TestSequenceSeeds/%s' . -args -first %d -count 1\n%s", seed, source.name, seed, r)
					}
				}
				t.Log(sum)
			})
		}
	}
}

// TestSequencesReproducible: the same seed is the same run, to the last step.
func TestSequencesReproducible(t *testing.T) {
	for _, source := range sources {
		t.Run(source.name, func(t *testing.T) {
			t.Parallel()
			n := 3
			if *count > 0 {
				n = *count
			}
			for seed := *first; seed < *first+n; seed++ {
				plan := simulate.NumberPlanOf(source.of, seed)
				a, b := simulate.RunNumbers(t, plan, simulate.NumberSubject{}).Events, simulate.RunNumbers(t, plan, simulate.NumberSubject{}).Events
				for i := range min(len(a), len(b)) {
					require.Equal(t, a[i], b[i], "seed %d, event %d of %d and %d", seed, i, len(a), len(b))
				}
				require.Equal(t, len(a), len(b), "seed %d", seed)
			}
		})
	}
}
