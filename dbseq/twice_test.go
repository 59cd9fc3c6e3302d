//go:build prove

package dbseq_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The record of the namespace and a slot are lost, and a member with greater times begins anew. The
// record of the namespace is lost again before the slot that was left shows these times.
func TestRaiseLostTwice(t *testing.T) {
	s := byAClock(t).(clocked)
	c := s.center(t)
	req := func(maxTTL time.Duration, worker int64) lease.Request {
		r := request("orders", 2)
		r.First, r.Last, r.CallerTime = worker, worker, 0
		r.TTL, r.MaxTTL, r.Skew, r.MaxLead = maxTTL, maxTTL, 100*time.Millisecond, maxTTL-5*time.Millisecond
		return r
	}
	short, long := req(time.Second, 1), req(4*time.Second, 1)
	require.NoError(t, c.Extras().Init(t.Context(), short))
	rawExec(t, s.db, "DELETE FROM snowlease_meta")
	rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE slot = 1")
	_, err := c.Acquire(t.Context(), long)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	rawExec(t, s.db, "DELETE FROM snowlease_meta")
	var held lease.Grant
	for range 100 {
		if held, err = c.Acquire(t.Context(), long); err == nil {
			break
		}
		s.Sleep(100 * time.Millisecond)
	}
	require.NoError(t, err)
	for range 12 {
		s.Sleep(500 * time.Millisecond)
		held, err = c.Renew(t.Context(), held)
		require.NoError(t, err)
	}
	rawExec(t, s.db, "DELETE FROM snowlease_meta")
	rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE slot = 1")
	var next lease.Grant
	for range 100 {
		next, err = c.Acquire(t.Context(), short)
		if !errors.As(err, new(*lease.QuarantineError)) && err == nil {
			break
		}
		s.Sleep(100 * time.Millisecond)
	}
	require.NoError(t, err)
	requireDisjoint(t, held, next)
}
