package printable_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/printable"
)

func TestTime(t *testing.T) {
	t.Parallel()
	for _, ms := range []int64{0, 1, -1, 1795176000000, 999_999_999_999_999, math.MaxInt64, math.MinInt64} {
		for _, zone := range []*time.Location{time.UTC, time.FixedZone("", 14*3600), time.FixedZone("", -12*3600)} {
			if ms < -1 && zone != time.UTC {
				continue // the zero time is shown in UTC, or not at all
			}
			_, err := json.Marshal(printable.Time(ms).In(zone))
			require.NoError(t, err, ms)
		}
	}
	require.True(t, printable.Time(time.Time{}.UnixMilli()).IsZero())
	require.Equal(t, time.UnixMilli(1795176000000), printable.Time(1795176000000))
}
