package simulate_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/proof/simulate"
)

// TestReproducible: the same seed is the same run, to the last step.
func TestReproducible(t *testing.T) {
	for name, subject := range stores {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := map[string]int{"memory": 60, "redis": 20, "sqlite": 10, "local": 60}[name]
			if *count > 0 {
				n = *count
			}
			for seed := *first; seed < *first+n; seed++ {
				plan := plansOf(name).Example(seed)
				a, b := simulate.Run(t, plan, subject).Events, simulate.Run(t, plan, subject).Events
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
}
