package rules

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A clock that steps back does not shorten a quarantine, not even if another loss is
// noticed.
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
	require.Equal(t, first+1, second, "a loss shows in the quarantine")
}

// A quarantine by hand on a clock that was set back does not shorten the one before it.
func TestQuarantineByHandOnAnEarlierClock(t *testing.T) {
	t.Parallel()
	first, err := opened(t).Quarantined(now, "restored")
	require.NoError(t, err)
	again, err := first.Quarantined(now-5000, "restored again")
	require.NoError(t, err)
	require.Equal(t, first.Meta.Quarantine, again.Meta.Quarantine)
}

// lost returns a namespace of one worker id, held by owner 1 until ceiling, whose store
// was replaced a second after the borrow.
func lost(t *testing.T) (ns Namespace, g lease.Grant, at int64) {
	req := request(1)
	req.Pool, req.Last, req.MaxLead = 1, 0, 29*time.Second
	ns, err := Namespace{}.Init("a", req)
	require.NoError(t, err)
	ns, g, err = ns.Acquire(now, "a", req)
	require.NoError(t, err)
	return ns, g, now + 1000
}

// After a loss, a holder on record gets a range above all that may have been forgotten,
// as soon as one may be lent. Later renewals extend that range.
func TestSwap(t *testing.T) {
	t.Parallel()
	ns, g, at := lost(t)
	horizon := at + 32_000
	ns, _, err := ns.Renew(at, "b", g)
	q := (*lease.QuarantineError)(nil)
	require.ErrorAs(t, err, &q)
	require.Equal(t, horizon, ns.Meta.Quarantine)
	require.Equal(t, at+3001, q.Until.UnixMilli())
	_, _, err = ns.Renew(at+3000, "b", g)
	require.ErrorAs(t, err, &q)

	ns, swapped, err := ns.Renew(at+3001, "b", g)
	require.NoError(t, err)
	require.Equal(t, []int64{horizon, horizon + 1001}, []int64{swapped.Floor, swapped.Ceiling})
	require.Greater(t, swapped.Token, g.Token)
	require.Equal(t, at+3001+10_000, ns.Slots[0].Expires)
	for name, asked := range map[string]lease.Grant{"with the new grant": swapped, "the reply was lost": g} {
		_, again, err := ns.Renew(at+4001, "b", asked)
		require.NoError(t, err, name)
		require.Equal(t, []int64{swapped.Token, horizon, horizon + 2001}, []int64{again.Token, again.Floor, again.Ceiling}, name)
	}
	_, err = ns.Release(at+4001, "b", g, g.Ceiling)
	require.ErrorIs(t, err, lease.ErrLost, "the reply was lost, and what was lent by it stays")

	// Later the range ends TTL above its floor. Once the clock has passed that, it ends
	// TTL above the clock.
	ns, _, err = ns.Renew(at+10_000, "b", swapped)
	require.NoError(t, err)
	_, long, err := ns.Renew(at+17_000, "b", swapped)
	require.NoError(t, err)
	require.Equal(t, horizon+10_000, long.Ceiling)
}

// A holder that is not on record must borrow again: no ceiling brings back its grant.
func TestNotOnRecordIsLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(Namespace) Namespace{
		"wiped":       func(Namespace) Namespace { return Namespace{} },
		"owners lost": Namespace.WithoutOwners,
		"lease lost":  func(ns Namespace) Namespace { return ns.WithoutLease(0) },
	} {
		ns, g, at := lost(t)
		ns, _, err := lose(ns).Renew(at, "a", g)
		require.ErrorIs(t, err, lease.ErrLost, name)
		_, _, err = ns.Renew(at+3001, "a", g)
		require.ErrorIs(t, err, lease.ErrLost, name)
	}
}

// With exact times, nothing is lent before the clock has passed what was lost.
func TestExactTimes(t *testing.T) {
	t.Parallel()
	ns, g, at := lost(t)
	exact := request(2)
	exact.Pool, exact.Last = 1, 0
	ns, _, err := ns.WithoutMark(0).Acquire(at, "a", exact)
	q := (*lease.QuarantineError)(nil)
	require.ErrorAs(t, err, &q)
	require.Equal(t, at+32_001, q.Until.UnixMilli())
	g.MaxLead = 0
	_, _, err = ns.Renew(at+5000, "a", g)
	require.ErrorAs(t, err, &q)
	_, next, err := ns.Acquire(at+32_001, "a", exact)
	require.NoError(t, err)
	require.Equal(t, next.Now-1, next.Floor)
}

// A grant whose mark was lost since is not lent again from the same floor.
func TestRepeatedWithoutItsMark(t *testing.T) {
	t.Parallel()
	ns, g, at := lost(t)
	_, again, err := ns.Acquire(at, "a", g.Request)
	require.NoError(t, err)
	require.Equal(t, g.Floor, again.Floor)
	ns, _, err = ns.WithoutMark(0).Acquire(at, "a", g.Request)
	require.Error(t, err)
	_, _, err = ns.Acquire(at+3001, "a", g.Request)
	full := (*lease.NoFreeWorkerError)(nil)
	require.ErrorAs(t, err, &full)
}

// A grant newer than its record is not extended if no loss was noticed. Such records
// come from a server that its members believe to forget nothing.
func TestRenewedBeyondTheRecord(t *testing.T) {
	t.Parallel()
	ns, g, at := lost(t)
	g.Token++
	_, _, err := ns.Renew(at, "a", g)
	require.ErrorIs(t, err, lease.ErrLost)
}

// Before the time of a fall is set, and before it falls, all slots show that no more is used, and
// afterwards none allows for more. Members who ask again for the greater values wait like new ones.
func TestFallenPinIsForgotten(t *testing.T) {
	t.Parallel()
	more, req := request(9), request(1)
	more.MaxTTL = 4 * time.Minute
	ns, err := Namespace{}.Init("a", more)
	require.NoError(t, err)
	ns, g, err := ns.Acquire(now, "a", req)
	require.NoError(t, err)
	at, shown := int64(now), false // that no more is used than what the pin falls to
	for ; ns.Meta.Pin.Hold() == more.Pin().Hold(); at += 1000 {
		require.Less(t, at, int64(now+600_000))
		for w, s := range ns.Slots {
			require.Equal(t, ms(more.Pin().Hold()), s.Hold, w)
		}
		shown = !slices.ContainsFunc(ns.Slots, func(s Slot) bool { return s.Used != ms(req.Pin().Hold()) })
		decided := ns.Meta.Pin.Change.At > 0
		ns, g, err = ns.Renew(at, "a", g)
		require.NoError(t, err)
		if !decided && ns.Meta.Pin.Change.At > 0 {
			require.True(t, shown, "before its time was set")
			ns.Slots[1].Used = ms(more.Pin().Hold()) // by a write that was delayed
		}
	}
	require.True(t, shown, "before it fell")
	for w, s := range ns.Slots {
		require.Equal(t, [2]int64{ms(req.Pin().Hold()), ms(req.Pin().Hold())}, [2]int64{s.Hold, s.Used}, w)
	}
	ns.Slots[1].Hold = ms(more.Pin().Hold()) // not lowered yet
	pin, err := Joined(lease.Pin{}, lease.Pin{}, 0, 0, more)
	require.NoError(t, err)
	ns, _, err = ns.WithoutMeta().Acquire(at, "a", more)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	require.Equal(t, pin.Hold(), ns.Meta.Pin.Hold())
	require.Equal(t, at+ms(pin.Hold()), ns.Meta.Quarantine)
	require.Equal(t, req.Pin().Hold(), ns.Meta.Pin.Change.MaxTTL+ns.Meta.Pin.Change.Skew)
}
