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

// What was lent after a quarantine is not taken back when the clock steps back into it.
func TestRetakeAfterTheQuarantineOnAnEarlierClock(t *testing.T) {
	t.Parallel()
	req := request(1)
	req.Pool, req.Last = 1, 0
	ns, _, err := Namespace{}.Acquire(now, "a", req)
	var q *lease.QuarantineError
	require.ErrorAs(t, err, &q)
	end := q.Until.UnixMilli()
	ns, former, err := ns.Acquire(end, "a", req)
	require.NoError(t, err)
	req.Owner = [16]byte{2}
	ns, next, err := ns.Acquire(former.Ceiling+1, "a", req)
	require.NoError(t, err)
	ns, err = ns.Release(next.Now, "a", next, next.Now)
	require.NoError(t, err)
	_, _, err = ns.Renew(end-1, "a", former)
	require.ErrorIs(t, err, lease.ErrLost)
}
