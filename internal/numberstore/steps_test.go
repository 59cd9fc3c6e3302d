package numberstore_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
)

type next struct {
	name       string
	step, used int64
	in         time.Duration
	want       int64
}

func TestNextStep(t *testing.T) {
	t.Parallel()
	steps := numberstore.Steps{Min: 10, Max: 50_000, Cover: 10 * time.Second}
	for _, c := range []next{
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

// TestFreshSteps: numbers that grow old are not reserved for a rate that has passed.
func TestFreshSteps(t *testing.T) {
	t.Parallel()
	const cover = 125 * time.Millisecond
	steps := numberstore.Steps{Min: 1, Max: 4096, Cover: cover, Fresh: true}
	for _, c := range []next{
		{"nothing used", 64, 0, time.Second, 1},
		{"nothing used at once", 1, 0, 0, 1},
		{"a low rate", 1, 1, time.Second, 1},
		{"sixteen a second", 1, 16, time.Second, 2},
		{"a rate that stays", 100, 100, cover, 100},
		{"a burst", 1, 1, time.Microsecond, 8},
		{"a burst that lasts", 8, 8, time.Microsecond, 64},
		{"the limit", 4096, 4096, time.Microsecond, 4096},
		{"a rate that falls", 4096, 40, time.Second, 5},
		{"an endless rate", 1 << 20, 1 << 60, 1, 4096},
	} {
		require.Equal(t, c.want, steps.Next(c.step, c.used, c.in), c.name)
	}
}
