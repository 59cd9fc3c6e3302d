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
		_, err := Joined(c.stored, c.known, 0, 0, req)
		require.Equal(t, c.stops, err != nil, name)
	}
}

// What slots show is used like a raise, unless they show it as used.
func TestHoldOfSlots(t *testing.T) {
	t.Parallel()
	req := request(7)
	for hold, want := range map[int64]string{
		0:      "max_ttl=30s skew=2s",
		32_000: "max_ttl=30s skew=2s",
		62_000: "max_ttl=1m0s skew=2s raised_from=30s/2s at=0",
		12_000: "max_ttl=30s skew=2s raised_from=10s/2s at=0",
		2_000:  "max_ttl=30s skew=2s raised_from=100ms/2s at=0",
	} {
		pin, err := Joined(lease.Pin{}, lease.Pin{}, hold, hold, req)
		require.NoError(t, err)
		require.Equal(t, "layout={l} pool=2 "+want, pin.String())
	}
	// A replica may be from before the raise, or from after a fall.
	for used, want := range map[int64]string{
		12_000: "max_ttl=30s skew=2s raised_from=10s/2s at=0",
		31_000: "max_ttl=30s skew=2s raised_from=29s/2s at=0",
	} {
		pin, err := Joined(lease.Pin{}, lease.Pin{}, used, 32_000, req)
		require.NoError(t, err)
		require.Equal(t, "layout={l} pool=2 "+want, pin.String())
	}
	// A holder knows what the pin falls to.
	known := lease.ParsePin("layout={l} pool=2 max_ttl=4m0s skew=2m0s falls_to=4m0s/2s at=5")
	pin, err := Joined(lease.Pin{}, known, 242_000, 360_000, req)
	require.NoError(t, err)
	require.Equal(t, "layout={l} pool=2 max_ttl=4m0s skew=2m0s raised_from=4m0s/2s at=0", pin.String())
}

func TestHolds(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ns         Namespace
		used, most int64
	}{
		"none":   {Namespace{}, 0, 0},
		"slots":  {Namespace{Slots: []Slot{{Hold: 7, Used: 2}, {}, {Hold: 5, Used: 5}, {Hold: 9, Used: 3}}}, 5, 9},
		"a part": {Namespace{Part: &Part{Least: 4, Used: 5, Hold: 9}}, 5, 9},
	} {
		used, most := c.ns.holds()
		require.Equal(t, []int64{c.used, c.most}, []int64{used, most}, name)
	}
}

// Members who lose the record of the namespace again and again read the same hold back, whoever is
// the first and however that divides the hold.
func TestHoldIsReadBack(t *testing.T) {
	t.Parallel()
	for _, maxTTLs := range [][3]time.Duration{{40, 20, 30}, {20, 30, 40}} {
		hold := int64(0)
		for i := range 6 {
			pin := lease.Pin{}
			if i == 1 {
				pin = lease.ParsePin("layout={l} pool=2 max_ttl=40s skew=1s falls_to=20s/1s at=5")
			}
			for j := range 6 {
				m, before := (i+j*(1+i%2))%3, pin.Hold()
				req := request(byte(m))
				req.MaxTTL, req.Skew = maxTTLs[m]*time.Second, time.Duration(m+1)*time.Second
				var err error
				pin, err = Joined(pin, lease.Pin{}, hold, hold, req)
				require.NoError(t, err)
				require.NoError(t, lease.ParsePin(pin.String()).Err())
				require.GreaterOrEqual(t, pin.MaxTTL, req.MaxTTL)
				require.GreaterOrEqual(t, pin.Skew, req.Skew)
				require.GreaterOrEqual(t, pin.Hold(), before)
			}
			hold = ms(pin.Hold())
			require.Equal(t, ms(43*time.Second), hold)
		}
	}
}

// The renewal that would let the pin fall notices a loss: ranges may begin as far ahead as the pin
// allows for.
func TestLossBeforeAFall(t *testing.T) {
	t.Parallel()
	first, req := request(1), request(2)
	first.MaxTTL *= 2
	req.MaxLead = req.MaxTTL - 250*time.Millisecond
	ns, err := Namespace{}.Init("a", first)
	require.NoError(t, err)
	ns, g, err := ns.Acquire(now, "a", req)
	require.NoError(t, err)
	at := int64(now)
	for g.Pinned.Change.At <= 0 || at+5000 < g.Pinned.Change.At {
		at += 5000
		ns, g, err = ns.Renew(at, "a", g)
		require.NoError(t, err)
	}
	late, _, err := ns.Renew(at+5000, "b", g)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	raised := first.Pin()
	raised.Change = lease.PinChange{MaxTTL: req.MaxTTL, Skew: req.Skew}
	require.Equal(t, raised, late.Meta.Pin, "a server that has more on record may have let it fall")

	at = g.Pinned.Change.At - 2001
	behind, _, _ := ns.Renew(at+1, "b", g)
	require.Equal(t, raised, behind.Meta.Pin, "its clock may be behind by the skew")
	ns, _, err = ns.Renew(at, "b", g)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	require.Equal(t, first.Pin(), ns.Meta.Pin)
	_, _, err = ns.Renew(at+2500, "b", g)
	require.NoError(t, err, "after the skew and a quarter of a second")
}

// A replica that lacks the end of a fall is promoted, with or without its record of the namespace, and the
// primary, which has it, comes back soon.
func TestFallAndFailback(t *testing.T) {
	t.Parallel()
	more, req := request(9), request(1)
	more.MaxTTL, req.MaxLead = 4*time.Minute, req.MaxTTL-250*time.Millisecond
	primary, err := Namespace{}.Init("a", more)
	require.NoError(t, err)
	at := int64(now)
	primary, g, err := primary.Acquire(at, "a", req)
	require.NoError(t, err)
	var lag []Namespace
	for primary.Meta.Pin.MaxTTL != req.MaxTTL {
		at += 5000
		lag = append(lag, primary, primary.WithoutMeta())
		primary, g, err = primary.Renew(at, "a", g)
		require.NoError(t, err)
	}
	more.MaxLead = more.MaxTTL - 250*time.Millisecond
	for _, replica := range lag[len(lag)-2*int(req.Pin().Hold()/(5*time.Second)):] {
		for _, first := range []lease.Request{req, more} {
			first.Owner = lease.NewOwner()
			promoted, _, err := replica.Acquire(at, "b", first)
			require.Error(t, err)
			for later := at; later < at+ms(req.Pin().Hold()); later += 250 {
				promoted, _, err = promoted.Acquire(later, "b", more)
				require.Error(t, err, "as long as a server may lag")
			}
		}
	}
}

// Changes that different borrows begin differ, so that no late call takes one for another.
func TestChangesDiffer(t *testing.T) {
	t.Parallel()
	a, b := request(1), request(2)
	a.Owner, b.Owner = lease.NewOwner(), lease.NewOwner()
	on := a.Pin()
	on.MaxTTL *= 2
	g := lease.Grant{Request: a, Now: now, Floor: now - 1}
	other := g
	other.Owner = b.Owner
	require.NotEqual(t, Proposed(on, g), Proposed(on, other))
	a.MaxTTL, b.MaxTTL = 4*a.MaxTTL, 4*b.MaxTTL
	first, _ := on.Join(a)
	second, _ := on.Join(b)
	require.NotEqual(t, first, second)
	for _, pin := range []lease.Pin{first, second, Proposed(on, g)} {
		require.LessOrEqual(t, pin.Change.At, int64(0))
		require.Equal(t, pin, lease.ParsePin(pin.String()))
		require.Greater(t, Advanced(pin, now).Change.At, int64(now))
	}
}

// A slot can show less than a raise when it can be used, because a write by an earlier pin was delayed. It
// shows the raise again before that is used.
func TestRaiseIsShownWhenItIsUsed(t *testing.T) {
	t.Parallel()
	ns, g, err := opened(t).Acquire(now, "a", request(1))
	require.NoError(t, err)
	more := request(2)
	more.MaxTTL *= 2
	ns, _, err = ns.Acquire(now, "a", more)
	require.NoError(t, err)
	at := int64(now)
	for ; ns.Meta.Pin.Change.At <= 0 || at < ns.Meta.Pin.Change.At; at += 1000 {
		require.Less(t, at, int64(now+60_000))
		ns, g, err = ns.Renew(at, "a", g)
		require.NoError(t, err)
	}
	ns.Slots[1].Hold = ms(request(1).Pin().Hold())
	for _, change := range []bool{true, false} {
		ns, g, err = ns.Renew(at, "a", g)
		require.NoError(t, err)
		require.Equal(t, change, ns.Meta.Pin.Change != (lease.PinChange{}))
		require.Equal(t, ms(ns.Meta.Pin.Hold()), ns.Slots[1].Hold)
	}
}

// Leases are longer by what their member lacks of the greatest skew, until that has fallen. So it falls
// before the MaxTTL that allows for them.
func TestSkewFallsFirst(t *testing.T) {
	t.Parallel()
	req := request(1)
	req.TTL, req.MaxTTL, req.Skew = 30*time.Second, 30*time.Second, 2*time.Second
	on := req.Pin()
	on.MaxTTL, on.Skew = 4*time.Minute, 2*time.Minute
	g := lease.Grant{Request: req, Now: now, Floor: now - 1}
	falls := Advanced(Proposed(on, g), now)
	require.Equal(t, lease.PinChange{Falls: true, MaxTTL: on.MaxTTL, Skew: req.Skew, At: now + 360_000}, falls.Change)
	require.Equal(t, 148*time.Second, By(falls, req).TTL)
	fallen := Advanced(falls, falls.Change.At)
	on.Skew = req.Skew
	require.Equal(t, on, fallen)
	require.Equal(t, req.TTL, By(fallen, req).TTL)
	require.Equal(t, req.MaxTTL, Proposed(fallen, g).Change.MaxTTL)
	on.Skew, on.MaxTTL = 40*time.Second, time.Minute
	require.Equal(t, on.MaxTTL, By(on, req).TTL, "not longer than allowed for")
}

// A quarantine that ends when a raise is used says so.
func TestQuarantineUntilARaiseIsUsed(t *testing.T) {
	t.Parallel()
	req := request(1)
	req.MaxTTL, req.Skew = 30*time.Second, 2*time.Second
	req.MaxLead = req.MaxTTL - time.Second
	more := req
	more.MaxTTL = time.Hour
	pin, _ := req.Pin().Join(more)
	loss := now + ms(pin.Hold())
	for at, until := range map[int64]int64{0: now + 32_000, now + 9_000: now + 9_000, now + 1: now + 3_001, now: now + 3_001} {
		pin.Change.At = at
		var q *lease.QuarantineError
		require.ErrorAs(t, Quarantined("", loss, now, pin, req), &q)
		require.Equal(t, until, q.Until.UnixMilli())
	}
	var q *lease.QuarantineError
	used := pin
	used.Change = lease.PinChange{MaxTTL: lease.MinTTL, Skew: 40 * time.Second, At: now} // as after a loss that a great skew was the first to see
	require.ErrorAs(t, Quarantined("", loss, now, used, req), &q)
	require.Equal(t, int64(now+3_001), q.Until.UnixMilli(), "no range begins ahead until then")
	req.MaxLead = 0
	require.ErrorAs(t, Quarantined("", loss, now, pin, req), &q)
	require.Equal(t, loss+1, q.Until.UnixMilli(), "exact times")
}

// Borrowers let a raise be used when nobody is left who renews.
func TestBorrowersWaitForARaise(t *testing.T) {
	t.Parallel()
	req, more := request(1), request(2)
	req.MaxLead, more.MaxTTL = req.MaxTTL-time.Second, time.Hour
	ns, _, err := opened(t).Acquire(now, "a", req)
	require.NoError(t, err)
	ns, _, err = ns.Acquire(now, "a", more)
	require.NoError(t, err)
	req.Owner = lease.NewOwner()
	ns = ns.WithoutMeta()
	// The first call notices a loss, the second has the slots show the raise, the third notices another
	// loss, and the fourth sets the time.
	for i := int64(0); ; i++ {
		ns, _, err = ns.Acquire(now+1000*i, []string{"b", "c"}[min(i/2, 1)], req)
		if err == nil {
			require.Equal(t, int64(3+32), i)
			break
		}
		require.ErrorAs(t, err, new(*lease.QuarantineError))
		require.Equal(t, i > 2, ns.Meta.Pin.Change.At > 0)
	}
}

// Nothing falls while ranges begin ahead of the clock, whichever call detects the loss.
func TestNothingFallsInAQuarantine(t *testing.T) {
	t.Parallel()
	more, req, other := request(9), request(1), request(2)
	more.MaxTTL = 4 * time.Minute
	ns, err := Namespace{}.Init("a", more)
	require.NoError(t, err)
	ns, leaves, err := ns.Acquire(now, "a", req)
	require.NoError(t, err)
	ns, stays, err := ns.Acquire(now, "a", other)
	require.NoError(t, err)
	for at := int64(now); leaves.Pinned.Change.At <= 0 || at+1000 < leaves.Pinned.Change.At; at += 1000 {
		ns, leaves, err = ns.Renew(at, "a", leaves)
		require.NoError(t, err)
		ns, stays, err = ns.Renew(at, "a", stays)
		require.NoError(t, err)
	}
	falls := leaves.Pinned.Change.At
	detected, err := ns.Release(falls-1, "b", leaves, leaves.Now)
	require.NoError(t, err)
	byHand, err := ns.Quarantined(falls-1, "restored")
	require.NoError(t, err)
	for in, ns := range map[string]Namespace{"b": detected, "a": byHand} {
		require.Greater(t, ns.Meta.Quarantine, falls)
		for at := falls + 1; at < falls+3; at++ {
			ns, _, _ = ns.Renew(at, in, stays)
		}
		require.Equal(t, more.Pin().Hold(), ns.Meta.Pin.Hold(), in)
		require.False(t, ns.Meta.Pin.Change.Falls)
	}
}
