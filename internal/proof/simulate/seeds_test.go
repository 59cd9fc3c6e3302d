package simulate_test

import (
	"flag"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowlease/snowlease/internal/proof/simulate"
)

var (
	first = flag.Int("first", 1, "first seed")
	count = flag.Int("count", 0, "how many seeds on each store; 0: as many as CI runs")
)

var stores = map[string]simulate.Subject{
	"memory": {Store: simulate.NewMemory},
	"redis":  {Store: simulate.NewRedis},
	"sqlite": {Store: simulate.NewSQLite},
	"local":  {Store: simulate.NewLocal},
}

// central are the stores that have the faults of a center.
var central = []string{"memory", "redis", "sqlite"}

// plansOf draws plans for a store.
func plansOf(store string) *rapid.Generator[simulate.Plan] {
	if store == "local" {
		return simulate.LocalPlans()
	}
	return simulate.Plans()
}

// seedsOf says how many seeds CI runs on each store: 2,000 on those that are a
// center.
var seedsOf = map[string]int{"memory": 1300, "redis": 400, "sqlite": 300, "local": 400}

const shards = 4

// TestSeeds: no rule is broken.
func TestSeeds(t *testing.T) {
	for name, subject := range stores {
		n := seedsOf[name]
		if *count > 0 {
			n = *count
		}
		for shard := range min(shards, n) {
			t.Run(fmt.Sprintf("%s/%d", name, shard), func(t *testing.T) {
				t.Parallel()
				var sum simulate.Tally
				for seed := *first + shard; seed < *first+n; seed += shards {
					r := simulate.Run(t, plansOf(name).Example(seed), subject)
					if sum.Add(r); !r.OK() {
						t.Fatal(report(seed, r))
					}
				}
				t.Log(sum)
			})
		}
	}
}

// report is all about a run that broke a rule.
func report(seed int, r simulate.Result) string {
	return fmt.Sprintf(`seed %d on %s
this run alone: go test -run 'TestSeeds/%s' . -args -first %d -count 1
a smaller one:  go test -run 'TestShrink/%s' . -args -rapid.seed %d -rapid.checks 1
%s`, seed, r.Store, r.Store, seed, r.Store, seed, r)
}
