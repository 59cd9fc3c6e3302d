package simulate

import (
	"cmp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReproducible checks that the same seed yields the same run, to the last step.
func TestReproducible(t *testing.T) {
	for name, subject := range stores {
		n := map[string]int{"memory": 60, "redis": 20, "sqlite": 10, "etcd": 20}[name]
		repeat(t, name, n, examples(plansOf(name)), subject)
	}
}

// TestSequencesReproducible checks the same for numbers.
func TestSequencesReproducible(t *testing.T) {
	for of, source := range sources {
		repeat(t, source.name, 3, examples(NumberPlans(Source(of))), Numbers{})
	}
}

func repeat(t *testing.T, name string, n int, plans func(seed int) Plan, subject Subject) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		for seed := *first; seed < *first+cmp.Or(*count, n); seed++ {
			plan := plans(seed)
			a, b := Run(t, plan, subject).Events, Run(t, plan, subject).Events
			if slices.Equal(a, b) {
				continue
			}
			for i := range min(len(a), len(b)) {
				require.Equal(t, a[i].String(), b[i].String(), "seed %d, event %d of %d and %d", seed, i, len(a), len(b))
			}
			t.Fatalf("seed %d: %d events, then %d", seed, len(a), len(b))
		}
	})
}
