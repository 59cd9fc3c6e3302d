package simulate

import (
	"cmp"
	"flag"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var (
	first = flag.Int("first", 1, "first seed")
	count = flag.Int("count", 0, "how many seeds on each store; 0: as many as CI runs")
)

var stores = map[string]WorkerIDs{
	"memory": {Store: NewMemory},
	"redis":  {Store: NewRedis},
	"sqlite": {Store: NewSQLite},
	"etcd":   {Store: NewEtcd},
}

// examples returns the plan of each seed.
func examples(plans *rapid.Generator[Plan]) func(seed int) Plan {
	return func(seed int) Plan { return plans.Example(seed) }
}

// plansOf draws plans for a store.
func plansOf(store string) *rapid.Generator[Plan] {
	if store == "etcd" {
		return EtcdPlans()
	}
	return Plans()
}

// seedsOf is the number of seeds that CI runs on each store: 1,450 in all.
var seedsOf = map[string]int{"memory": 700, "redis": 250, "sqlite": 200, "etcd": 300}

// calmSeedsOf is the number of calm seeds that CI runs on each store.
var calmSeedsOf = map[string]int{"memory": 200, "redis": 40, "sqlite": 20, "etcd": 20}

// sources is the number of seeds that CI runs on each source of numbers.
var sources = []struct {
	name  string
	seeds int
}{
	Sequence: {"sequence", 120}, RedisSegments: {"redis segments", 60}, Dispenser: {"dispenser", 80},
}

// TestSeeds checks that no seed breaks a rule.
func TestSeeds(t *testing.T) {
	for name, subject := range stores {
		play(t, name, seedsOf[name], examples(plansOf(name)), subject)
	}
}

// TestCalm checks that losses alone leave no holder without ids, and no starting
// process for longer than the skew plus one second, on etcd plus half of MaxTTL.
func TestCalm(t *testing.T) {
	for name, subject := range stores {
		play(t, name, calmSeedsOf[name], examples(CalmPlans()), subject)
	}
}

// TestSequenceSeeds checks that no seed breaks a rule for numbers.
func TestSequenceSeeds(t *testing.T) {
	for of, source := range sources {
		play(t, source.name, source.seeds, examples(NumberPlans(Source(of))), Numbers{})
	}
}

// play runs n seeds, or as many as the flags say.
func play(t *testing.T, name string, n int, plan func(seed int) Plan, subject Subject) {
	const shards = 4
	n = cmp.Or(*count, n)
	for shard := range min(shards, n) {
		t.Run(fmt.Sprintf("%s/%d", name, shard), func(t *testing.T) {
			t.Parallel()
			var sum Tally
			for seed := *first + shard; seed < *first+n; seed += shards {
				r := Run(t, plan(seed), subject)
				if sum.Add(r.Tally); !r.OK() {
					t.Fatal(report(t.Name(), seed, r))
				}
			}
			t.Log(sum)
		})
	}
}

// report describes a run that broke a rule.
func report(test string, seed int, r Result) string {
	test = test[:strings.LastIndex(test, "/")]
	text := fmt.Sprintf("seed %d on %s\nthis run alone: go test -run '%s' . -args -first %[1]d -count 1\n", seed, r.Store, test)
	if store, ok := strings.CutPrefix(test, "TestSeeds/"); ok {
		text += fmt.Sprintf("a smaller one:  go test -run 'TestShrink/%s' . -args -rapid.seed %d -rapid.checks 1\n", store, seed)
	}
	return text + r.String()
}
