package rules

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/lease"
)

// A clock that steps back cuts no quarantine short, also where another loss is seen.
func TestSecondLossOnAnEarlierClock(t *testing.T) {
	t.Parallel()
	until := func(ns Namespace, now int64) (Namespace, int64) {
		ns, _, err := ns.Acquire(now, "a", request(1))
		var q *lease.QuarantineError
		require.True(t, errors.As(err, &q), err)
		return ns, q.Until.UnixMilli()
	}
	ns, first := until(opened(t).WithoutMark(0), now)
	_, second := until(ns.WithoutMark(0), now-5000)
	require.Equal(t, first, second)
}
