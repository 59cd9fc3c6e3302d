package simulate_test

import (
	"fmt"
	"testing"

	"github.com/snowlease/snowlease/internal/proof/simulate"
)

// calmSeedsOf says how many calm seeds CI runs on each store.
var calmSeedsOf = map[string]int{"memory": 200, "redis": 40, "sqlite": 20}

// TestCalm: losses alone leave no holder without ids, and nobody who starts for longer
// than skew + 1 s.
func TestCalm(t *testing.T) {
	for _, name := range central {
		n := calmSeedsOf[name]
		if *count > 0 {
			n = *count
		}
		for shard := range min(shards, n) {
			t.Run(fmt.Sprintf("%s/%d", name, shard), func(t *testing.T) {
				t.Parallel()
				var sum simulate.Tally
				for seed := *first + shard; seed < *first+n; seed += shards {
					r := simulate.Run(t, simulate.CalmPlans().Example(seed), stores[name])
					if sum.Add(r); !r.OK() {
						t.Fatal(reportCalm(seed, r))
					}
				}
				t.Log(sum)
			})
		}
	}
}

func reportCalm(seed int, r simulate.Result) string {
	return fmt.Sprintf("calm seed %d on %s\nthis run alone: go test -run TestCalm/%[2]s . -args -first %[1]d -count 1\n%[3]s", seed, r.Store, r)
}
