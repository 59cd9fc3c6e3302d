package idworker_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

// A start warns if the time field ends within five years, and fails within one.
func TestTimeFieldThatEnds(t *testing.T) {
	one := int64(1)
	for _, c := range []struct {
		years int
		warns bool
	}{{6, false}, {4, true}} {
		layout := snowflake.Layout{Epoch: 1, TimeBits: 38}
		layout.Epoch += time.Now().AddDate(c.years, 0, 0).UnixMilli() - layout.Ends().UnixMilli()
		var j journal
		var w *idworker.IdWorker
		a := app(t, &w, j.provide(), fx.Supply(idworker.Config{
			Mode: idworker.ModeLocal, Layout: layout, Local: hostseq.Config{Worker: &one, Stateless: true},
		}))
		a.RequireStart()
		if c.warns {
			require.Contains(t, j.String(), `level=WARN msg="the layout's time field ends within five years"`)
		} else {
			require.NotContains(t, j.String(), "five years")
		}
		a.RequireStop()

		layout.Epoch -= (time.Duration(c.years) * 365 * 24 * time.Hour).Milliseconds() - 200*24*time.Hour.Milliseconds()
		_, err := idworker.Fixed(layout, 1)
		require.ErrorContains(t, err, "year")
	}
}

// The guide says how a bubble gets a Fixed worker.
func TestFixedInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, err := idworker.Fixed(snowflake.Layout{}, 1)
		require.ErrorContains(t, err, "lies after now (2000-01-01T00:00:00Z)")
		time.Sleep(time.Until(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)))
		w, err := idworker.Fixed(snowflake.Layout{}, 1)
		require.NoError(t, err)
		ids := make([]int64, 1<<17) // as many as a tick holds, since the first one is random
		require.NoError(t, w.NextIDs(t.Context(), ids))

		// In one process too, only workers with different worker ids are unique.
		for worker, repeats := range map[int64]bool{1: true, 2: false} {
			another, err := idworker.Fixed(snowflake.Layout{}, worker)
			require.NoError(t, err)
			again := make([]int64, len(ids))
			require.NoError(t, another.NextIDs(t.Context(), again))
			seen := map[int64]bool{}
			for _, id := range ids {
				seen[id] = true
			}
			require.Equal(t, repeats, slices.ContainsFunc(again, func(id int64) bool { return seen[id] }))
		}
	})
}
