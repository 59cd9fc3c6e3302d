package rules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A holder is stopped only if the pin on record allows for less than its grant lasts.
func TestJoined(t *testing.T) {
	t.Parallel()
	req := request(1)
	pin := func(maxTTL, skew time.Duration, c lease.PinChange) lease.Pin {
		p := req.Pin()
		p.MaxTTL, p.Skew, p.Change = maxTTL, skew, c
		return p
	}
	const m, s = 30 * time.Second, 2 * time.Second
	raised, falls := lease.PinChange{MaxTTL: m, Skew: s, At: now}, lease.PinChange{Falls: true, MaxTTL: m, Skew: s, At: now}
	for name, c := range map[string]struct {
		stored, known lease.Pin
		stops         bool
	}{
		"the same":                     {pin(m, s, lease.PinChange{}), pin(m, s, lease.PinChange{}), false},
		"less":                         {pin(m, s, lease.PinChange{}), pin(2*m, s, lease.PinChange{}), true},
		"a lower skew":                 {pin(m, s, lease.PinChange{}), pin(m, 2*s, lease.PinChange{}), true},
		"a raise is forgotten":         {pin(m, s, lease.PinChange{}), pin(2*m, 2*s, raised), false},
		"it has fallen":                {pin(m, s, lease.PinChange{}), pin(2*m, 2*s, falls), false},
		"as much in all, another part": {pin(m+s, s, lease.PinChange{}), pin(m, 2*s, lease.PinChange{}), false},
	} {
		_, err := Joined(c.stored, c.known, 0, req)
		require.Equal(t, c.stops, err != nil, name)
	}
}

// A call reads the clock before it writes. So the time from which a raise is used counts from a call
// that found all slots to show it.
func TestRaiseIsShownBeforeItsTimeIsSet(t *testing.T) {
	t.Parallel()
	ns, g, err := opened(t).Acquire(now, "a", request(1))
	require.NoError(t, err)
	more := request(2)
	more.MaxTTL *= 2
	ns, _, err = ns.Acquire(now, "a", more)
	require.NoError(t, err)
	raised := ns.Meta.Pin
	require.Zero(t, raised.Change.At)
	shown := func() bool { return ns.Slots[0].Hold == ms(raised.Hold()) && ns.Slots[1].Hold == ms(raised.Hold()) }
	for i := int64(1); ns.Meta.Pin.Change.At == 0; i++ {
		before := shown()
		ns, g, err = ns.Renew(now+i, "a", g)
		require.NoError(t, err)
		require.Equal(t, before, ns.Meta.Pin.Change.At != 0)
		require.Less(t, i, int64(5))
	}
	require.True(t, shown())
}
