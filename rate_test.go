package snowlease_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// TestFullRate: while the store answers, a worker makes all ids of its layout from the third second
// on, whatever happened to the store, and no caller sees an expired lease.
func TestFullRate(t *testing.T) {
	t.Parallel()
	// Few ids, so that few are to be made; and few ticks to wait for, where nothing happens to the store.
	few := snowflake.Layout{SequenceBits: 1, TimeBits: 41}
	slow := snowflake.Layout{TimeUnit: 10 * time.Millisecond, SequenceBits: 1, TimeBits: 41}
	for name, test := range map[string]struct {
		layout  snowflake.Layout
		cfg     snowlease.Config
		other   snowlease.Config        // of a member that was there before
		happens func(*memcenter.Center) // a minute after the start
		seconds int
	}{
		"first start":                 {layout: few, seconds: 35},
		"4 sequence bits":             {layout: snowflake.Layout{SequenceBits: 4, TimeBits: 41}, seconds: 10},
		"the Unix epoch":              {layout: snowflake.Layout{Epoch: snowflake.UnixEpoch, SequenceBits: 1, TimeBits: 41}, seconds: 35},
		"ticks of 10 ms":              {layout: snowflake.Layout{TimeUnit: 10 * time.Millisecond, SequenceBits: 4}, seconds: 35},
		"a long max_ttl":              {layout: slow, cfg: snowlease.Config{MaxTTL: 10 * time.Minute}, seconds: 45},
		"the long max_ttl of another": {layout: few, happens: func(c *memcenter.Center) { c.Reincarnate("1") }, other: snowlease.Config{MaxTTL: 10 * time.Minute}, seconds: 45},
		"a long ttl":                  {layout: slow, cfg: snowlease.Config{TTL: 10 * time.Minute}, seconds: 35},
		"a lead as long as a TTL":     {layout: slow, cfg: snowlease.Config{MaxAhead: 30 * time.Second}, seconds: 35},
		"a wipe":                      {layout: few, happens: func(c *memcenter.Center) { c.Wipe() }, seconds: 35},
		"a failover":                  {layout: few, happens: func(c *memcenter.Center) { c.Reincarnate("1") }, seconds: 35},
		"the clock is set back":       {layout: few, happens: func(c *memcenter.Center) { c.Advance(-15 * time.Second) }, seconds: 35},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				center := memcenter.New()
				center.Intercept(func(context.Context, string, bool) error { time.Sleep(2 * time.Millisecond); return nil })
				test.cfg.Namespace, test.cfg.Layout = "orders", test.layout
				if test.other.MaxTTL > 0 {
					test.other.Namespace, test.other.Layout = "orders", test.layout
					w, err := snowlease.Open(t.Context(), center, test.other)
					require.NoError(t, err)
					require.NoError(t, w.Close())
				}
				w, err := snowlease.Open(t.Context(), center, test.cfg)
				require.NoError(t, err)
				defer func() { _ = w.Close() }()
				if test.happens != nil {
					for range 60 { // at a hundredth of the rate
						for range int(time.Second/test.layout.WithDefaults().TimeUnit) * int(test.layout.PerTick()) / 100 {
							_, err := w.NextID()
							require.NoError(t, err)
						}
						time.Sleep(time.Second)
					}
					test.happens(center)
				}
				start, second, made := time.Now(), 0, 0.0
				full := float64(time.Second/test.layout.WithDefaults().TimeUnit) * float64(test.layout.PerTick())
				for second < test.seconds {
					_, err := w.NextID()
					require.NotErrorIs(t, err, lease.ErrLost)
					require.NotErrorIs(t, err, snowlease.ErrLeaseExpired, second)
					if at := int(time.Since(start).Seconds()); at > second {
						if second >= 2 {
							require.Greater(t, made/full, 0.95, second)
						}
						second, made = at, 0
					}
					if err == nil {
						made++
					}
				}
			})
		})
	}
}
