package segment_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers/segment"
)

func TestZeroConfigButNamesIsValid(t *testing.T) {
	t.Parallel()
	require.NoError(t, segment.Config{Namespace: "shop", Name: "since.orders"}.Validate())
	require.Equal(t, segment.Config{
		Namespace: "shop", Name: "orders", Order: "process", Start: 1, Max: math.MaxInt64, Create: "auto",
		Step: 100, MinStep: 10, MaxStep: 1_000_000, Cover: 10 * time.Second,
	}, segment.Config{Namespace: "shop", Name: "orders"}.WithDefaults())
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
		cfg := segment.Config{Namespace: "shop", Name: "orders", Step: c.give[0], MinStep: c.give[1], MaxStep: c.give[2]}
		require.NoError(t, cfg.Validate(), c.give)
		cfg = cfg.WithDefaults()
		require.Equal(t, c.want, [3]int64{cfg.Step, cfg.MinStep, cfg.MaxStep}, c.give)
	}
}

func TestBadConfigNamesFieldValueAndRemedy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		change func(*segment.Config)
		want   []string
	}{
		{"name empty", func(c *segment.Config) { c.Name = "" }, []string{"name is empty", "such as"}},
		{"name odd", func(c *segment.Config) { c.Name = "a:b" }, []string{`"a:b"`, "A-Z a-z"}},
		{"name long", func(c *segment.Config) { c.Name = strings.Repeat("a", 65) }, []string{"1 to 64"}},
		{"namespace empty", func(c *segment.Config) { c.Namespace = "" }, []string{"namespace is empty", "such as"}},
		{"namespace odd", func(c *segment.Config) { c.Namespace = "a/b" }, []string{`namespace "a/b"`, "1 to 64"}},
		{"order", func(c *segment.Config) { c.Order = "total" }, []string{`order "total"`, "process, strict"}},
		{"create", func(c *segment.Config) { c.Create = "maybe" }, []string{`create "maybe"`, "auto, never"}},
		{"start", func(c *segment.Config) { c.Start = -1 }, []string{"start -1", "from 1"}},
		{"start and max", func(c *segment.Config) { c.Start, c.Max = 10, 9 }, []string{"start 10", "max (9)"}},
		{"max", func(c *segment.Config) { c.Max = -5 }, []string{"max -5", "at least 1"}},
		{"step negative", func(c *segment.Config) { c.Step = -1 }, []string{"step -1", "1 <= min_step"}},
		{"step below min", func(c *segment.Config) { c.Step, c.MinStep = 5, 6 }, []string{"min_step 6", "step 5"}},
		{"step above max", func(c *segment.Config) { c.Step, c.MaxStep = 7, 6 }, []string{"step 7", "max_step 6"}},
		{"max_step", func(c *segment.Config) { c.MaxStep = numberstore.MaxReservation + 1 }, []string{"max_step 1000000001", "1000000000"}},
		{"cover short", func(c *segment.Config) { c.Cover = time.Millisecond }, []string{"cover 1ms", "100ms"}},
		{"cover long", func(c *segment.Config) { c.Cover = 25 * time.Hour }, []string{"cover 25h", "24h"}},
	} {
		cfg := segment.Config{Namespace: "shop", Name: "orders"}
		c.change(&cfg)
		err := cfg.Validate()
		require.Error(t, err, c.name)
		for _, want := range c.want {
			require.ErrorContains(t, err, want, c.name)
		}
		_, err = segment.Open(t.Context(), new(segmentcheck.Memory), cfg)
		require.Error(t, err, c.name)
	}
	err := segment.Config{Order: "x", Create: "x", Start: -1, Max: -1, Step: -1, Cover: -1}.Validate()
	for _, field := range []string{"name", "order", "create", "start", "max", "step", "cover"} {
		require.ErrorContains(t, err, field, "every fault at once")
	}
	_, err = segment.Open(t.Context(), nil, segment.Config{Namespace: "shop", Name: "orders"})
	require.ErrorContains(t, err, "the store is nil")
}
