package idworker_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease"
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
		_, err := snowlease.Fixed(layout, 1)
		require.ErrorContains(t, err, "year")
	}
}
