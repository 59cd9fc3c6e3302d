package simulate_test

import (
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/snowlease/snowlease/proof/simulate"
)

var (
	first = flag.Int("first", 1, "first seed")
	count = flag.Int("count", 0, "how many seeds on each store; 0: as many as CI runs")
)

var stores = map[string]simulate.WorkerIDs{
	"memory": {Store: simulate.NewMemory},
	"redis":  {Store: simulate.NewRedis},
	"sqlite": {Store: simulate.NewSQLite},
	"etcd":   {Store: simulate.NewEtcd},
	"local":  {Store: simulate.NewLocal},
}

// central lists the stores that have the faults of a center.
var central = []string{"memory", "redis", "sqlite", "etcd"}

// plansOf draws plans for a store.
func plansOf(store string) *rapid.Generator[simulate.Plan] {
	switch store {
	case "local":
		return simulate.LocalPlans()
	case "etcd":
		return simulate.EtcdPlans()
	}
	return simulate.Plans()
}

// seedsOf is the number of seeds that CI runs on each store: 2,300 in all on the central ones.
var seedsOf = map[string]int{"memory": 1300, "redis": 400, "sqlite": 300, "etcd": 300, "local": 400}

// calmSeedsOf is the number of calm seeds that CI runs on each store.
var calmSeedsOf = map[string]int{"memory": 200, "redis": 40, "sqlite": 20, "etcd": 20}

// sources is the number of seeds that CI runs on each source of numbers.
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
	{"series", simulate.Series, 40},
}

// TestSeeds checks that no seed breaks a rule.
func TestSeeds(t *testing.T) {
	for name, subject := range stores {
		play(t, name, seedsOf[name], plansOf(name), subject)
	}
}

// TestCalm checks that losses alone leave no holder without ids, and no starting
// process for longer than the skew plus one second, on etcd plus half of MaxTTL.
func TestCalm(t *testing.T) {
	for _, name := range central {
		play(t, name, calmSeedsOf[name], simulate.CalmPlans(), stores[name])
	}
}

// TestSequenceSeeds checks that no seed breaks a rule for numbers.
func TestSequenceSeeds(t *testing.T) {
	for _, source := range sources {
		play(t, source.name, source.seeds, simulate.NumberPlans(source.of), simulate.Numbers{})
	}
}

// play runs n seeds, or as many as the flags say.
func play(t *testing.T, name string, n int, plans *rapid.Generator[simulate.Plan], subject simulate.Subject) {
	const shards = 4
	if *count > 0 {
		n = *count
	}
	for shard := range min(shards, n) {
		t.Run(fmt.Sprintf("%s/%d", name, shard), func(t *testing.T) {
			t.Parallel()
			var sum simulate.Tally
			for seed := *first + shard; seed < *first+n; seed += shards {
				r := simulate.Run(t, plans.Example(seed), subject)
				if sum.Add(r.Tally); !r.OK() {
					t.Fatal(report(t.Name(), seed, r))
				}
			}
			t.Log(sum)
		})
	}
}

// report describes a run that broke a rule.
func report(test string, seed int, r simulate.Result) string {
	test = test[:strings.LastIndex(test, "/")]
	text := fmt.Sprintf("seed %d on %s\nthis run alone: go test -run '%s' . -args -first %[1]d -count 1\n", seed, r.Store, test)
	if store, ok := strings.CutPrefix(test, "TestSeeds/"); ok {
		text += fmt.Sprintf("a smaller one:  go test -run 'TestShrink/%s' . -args -rapid.seed %d -rapid.checks 1\n", store, seed)
	}
	return text + r.String()
}
