package snowlease_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/snowflake"
)

// TestRateAfterAFirstStart: a range that begins ahead of the clock is short at first, and is shared
// out until the clock has caught up. A burst may have used it up.
func TestRateAfterAFirstStart(t *testing.T) {
	bubble(t, func(t *testing.T) {
		layout := snowflake.Layout{SequenceBits: 2, TimeBits: 41} // few ids, so that few are to be made
		w, err := snowlease.Open(t.Context(), memcenter.New(), snowlease.Config{Namespace: "orders", Layout: layout})
		require.NoError(t, err)
		defer func() { _ = w.Stop(context.Background()) }()
		start := time.Now()
		for err == nil {
			_, err = w.NextID()
		}
		require.ErrorIs(t, err, snowlease.ErrLeaseExpired)
		require.Less(t, time.Since(start), time.Second)

		made := [70]float64{} // in each second, of the ids that the layout has
		for {
			_, err := w.NextIDWait(t.Context())
			require.NoError(t, err)
			second := int(time.Since(start).Seconds())
			if second == len(made) {
				break
			}
			made[second] += 1 / float64(1000*layout.PerTick())
		}
		for second, least := range map[int]float64{2: 0.03, 10: 0.15, 30: 0.5, 60: 0.8} { // as docs/reliability.md says
			require.Greater(t, made[second], least, second)
			require.Less(t, made[second], 3*least, second)
		}
	})
}
