package numberstore_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
)

func TestNextStep(t *testing.T) {
	t.Parallel()
	steps := numberstore.Steps{Min: 10, Max: 50_000, Cover: 10 * time.Second}
	for _, c := range []struct {
		name       string
		step, used int64
		in         time.Duration
		want       int64
	}{
		{"as it is", 1000, 1000, 10 * time.Second, 1000},
		{"faster", 1000, 1000, 5 * time.Second, 2000},
		{"much faster", 1000, 1000, time.Millisecond, 8000},
		{"no time at all", 1000, 1000, 0, 8000},
		{"slower", 1000, 1000, 15 * time.Second, 666},
		{"much slower", 1000, 1000, time.Hour, 500},
		{"nothing is known", 1000, 0, time.Hour, 1000},
		{"not below the least", 15, 15, time.Hour, 10},
		{"not above the most", 10_000, 10_000, time.Second, 50_000},
		{"nor where nothing is known", 100_000, 0, 0, 50_000},
		{"of any size", math.MaxInt64, math.MaxInt64, 1, 50_000},
	} {
		require.Equal(t, c.want, steps.Next(c.step, c.used, c.in), c.name)
	}
}
