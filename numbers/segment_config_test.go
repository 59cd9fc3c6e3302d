package numbers_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

func TestZeroConfigButNamesIsValid(t *testing.T) {
	t.Parallel()
	require.NoError(t, numbers.SegmentConfig{Namespace: "shop", Name: "since.orders"}.Validate())
	require.Equal(t, numbers.SegmentConfig{
		Namespace: "shop", Name: "orders", Start: 1, Max: math.MaxInt64,
		Step: 100, MinStep: 10, MaxStep: 1_000_000, Cover: 10 * time.Second,
	}, numbers.Defaults(numbers.SegmentConfig{Namespace: "shop", Name: "orders"}))
}

// TestStepsFitEachOther checks that setting only one of the step fields is valid.
func TestStepsFitEachOther(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ give, want [3]int64 }{
		{[3]int64{5, 0, 0}, [3]int64{5, 5, 1_000_000}},
		{[3]int64{2_000_000, 0, 0}, [3]int64{2_000_000, 10, 2_000_000}},
		{[3]int64{0, 500, 0}, [3]int64{500, 500, 1_000_000}},
		{[3]int64{0, 0, 50}, [3]int64{50, 10, 50}},
		{[3]int64{0, 0, 3}, [3]int64{3, 3, 3}},
		{[3]int64{0, 200, 300}, [3]int64{200, 200, 300}},
	} {
		cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders", Step: c.give[0], MinStep: c.give[1], MaxStep: c.give[2]}
		require.NoError(t, cfg.Validate(), c.give)
		cfg = numbers.Defaults(cfg)
		require.Equal(t, c.want, [3]int64{cfg.Step, cfg.MinStep, cfg.MaxStep}, c.give)
	}
}

func TestBadConfigNamesFieldValueAndRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*numbers.SegmentConfig)
		want   []string
	}{
		{"name empty", func(c *numbers.SegmentConfig) { c.Name = "" }, []string{"name is empty", "such as"}},
		{"name odd", func(c *numbers.SegmentConfig) { c.Name = "a:b" }, []string{`"a:b"`, "A-Z a-z"}},
		{"name long", func(c *numbers.SegmentConfig) { c.Name = strings.Repeat("a", 65) }, []string{"1 to 64"}},
		{"namespace empty", func(c *numbers.SegmentConfig) { c.Namespace = "" }, []string{"namespace is empty", "such as"}},
		{"namespace odd", func(c *numbers.SegmentConfig) { c.Namespace = "a/b" }, []string{`namespace "a/b"`, "1 to 64"}},
		{"start", func(c *numbers.SegmentConfig) { c.Start = -1 }, []string{"start -1", "from 1"}},
		{"start and max", func(c *numbers.SegmentConfig) { c.Start, c.Max = 10, 9 }, []string{"start 10", "max (9)"}},
		{"max", func(c *numbers.SegmentConfig) { c.Max = -5 }, []string{"max -5", "at least 1"}},
		{"step negative", func(c *numbers.SegmentConfig) { c.Step = -1 }, []string{"step -1", "1 <= min_step"}},
		{"step below min", func(c *numbers.SegmentConfig) { c.Step, c.MinStep = 5, 6 }, []string{"min_step 6", "step 5"}},
		{"step above max", func(c *numbers.SegmentConfig) { c.Step, c.MaxStep = 7, 6 }, []string{"step 7", "max_step 6"}},
		{"max_step", func(c *numbers.SegmentConfig) { c.MaxStep = numberstore.MaxReservation + 1 }, []string{"max_step 1000000001", "1000000000"}},
		{"cover short", func(c *numbers.SegmentConfig) { c.Cover = time.Millisecond }, []string{"cover 1ms", "100ms"}},
		{"cover long", func(c *numbers.SegmentConfig) { c.Cover = 25 * time.Hour }, []string{"cover 25h", "24h"}},
	} {
		cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders"}
		c.change(&cfg)
		err := cfg.Validate()
		require.Error(t, err, c.name)
		for _, want := range c.want {
			require.ErrorContains(t, err, want, c.name)
		}
		_, err = numbers.OpenSegment(t.Context(), new(segmentcheck.Memory), cfg)
		require.Error(t, err, c.name)
	}
	err := numbers.SegmentConfig{Start: -1, Max: -1, Step: -1, Cover: -1}.Validate()
	for _, field := range []string{"name", "start", "max", "step", "cover"} {
		require.ErrorContains(t, err, field, "every fault at once")
	}
	_, err = numbers.OpenSegment(t.Context(), nil, numbers.SegmentConfig{Namespace: "shop", Name: "orders"})
	require.ErrorContains(t, err, "the store is nil")
}
