package rules

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The contract (leasetest, run by memcenter) tests the rules from outside. The tests
// here cover single milliseconds that it cannot hit, and properties of pure functions.

const now = 1_000_000

func request(owner byte) lease.Request {
	return lease.Request{
		Namespace: "orders", Layout: "l", Holder: "h", Owner: [16]byte{owner}, Pool: 2, Last: 1,
		TTL: 10 * time.Second, MaxTTL: 30 * time.Second, Skew: 2 * time.Second,
	}
}

// opened returns a namespace with incarnation "a".
func opened(t *testing.T) Namespace {
	ns, err := Namespace{}.Init("a", request(1))
	require.NoError(t, err)
	return ns
}

func TestBoundaries(t *testing.T) {
	t.Parallel()
	g := lease.Grant{Request: request(1), Token: 7, Floor: 100, Ceiling: 200}
	at := func(expires, mark int64) Slot { return Slot{Expires: expires, Mark: mark} }
	lead := func(quarantine int64) int64 {
		req := g.Request
		req.MaxLead = 5 * time.Second
		return Lead(quarantine, now, req)
	}
	for name, ok := range map[string]bool{
		"free a millisecond after both":              Free(at(now-1, now-1), now, 0),
		"not free at the expiry":                     !Free(at(now, now-1), now, 0),
		"not free at the mark":                       !Free(at(now-1, now), now, 0),
		"free with a mark that may be lent above":    Free(at(now-1, now+4999), now, 5000),
		"not with a later one":                       !Free(at(now-1, now+5000), now, 5000),
		"nor before the expiry":                      !Free(at(now, now-1), now, 5000),
		"freeAt is the first free millisecond":       FreeAt(at(now-1, now-5), 0) == now && FreeAt(at(now-5, now-1), 0) == now,
		"freeAt is earlier where ranges begin ahead": FreeAt(at(now-9, now+4999), 5000) == now && FreeAt(at(now+3, now+4999), 5000) == now+4,
		"ranges begin ahead in a quarantine":         lead(now) == 5000,
		"and not after":                              lead(now-1) == 0,
		"given back is free at once":                 Free(at(freed(now), now-1), now, 0),
		"renewable when the skew is left":            at(now+2000, 0).Unexpired(now, g.Request),
		"not when less is left":                      !at(now+1999, 0).Unexpired(now, g.Request),
		"a grant on record is extended":              extends(Slot{Token: 7}, g),
		"an older one too":                           extends(Slot{Token: 8}, g),
		"not one that is forgotten":                  !extends(Slot{Token: 6}, g),
		"a ceiling TTL above the clock":              ceilingOf(now-1, now, g.Request) == now+10_000,
		"TTL above a floor that lies ahead":          ceilingOf(now+500, now, g.Request) == now+10_500,
		"not more than MaxTTL above the clock":       ceilingOf(now+20_001, now, g.Request) == now+30_000,
		"the floor is above mark and quarantine":     floorOf(at(0, 5), 7, 7) == 7 && floorOf(at(0, 9), 7, 7) == 9,
		"and not in the past":                        floorOf(at(0, 5), 7, 100) == 99,
		"tokens rise though the clock went back":     nextToken(5, 10) == 11 && nextToken(10, 5) == 11,
		"a clock 5 min off is borne":                 ClockVeto(now, lease.Request{CallerTime: now + 300_000}) == nil,
		"a clock 5 min and 1 ms off is not":          ClockVeto(now, lease.Request{CallerTime: now + 300_001}) != nil,
		"an unknown clock is no veto":                ClockVeto(now, lease.Request{}) == nil,
		"a quarantine outlasts the longest by skew":  QuarantineEnd(now, g.Pin()) == now+32_000,
	} {
		require.True(t, ok, name)
	}
}

// Floors follow the marks even if the center's clock steps back.
func TestClockStepsBack(t *testing.T) {
	t.Parallel()
	ns, g, err := opened(t).Acquire(now, "a", request(1))
	require.NoError(t, err)
	ns, renewed, err := ns.Renew(now-5000, "a", g)
	require.NoError(t, err)
	require.Equal(t, g.Ceiling, renewed.Ceiling, "the ceiling that was lent stands")
	ns, err = ns.Release(now-5000, "a", renewed, now+3000)
	require.NoError(t, err)
	req := request(2)
	req.Last = 0
	_, _, err = ns.Acquire(now-4000, "a", req)
	full := (*lease.NoFreeWorkerError)(nil)
	require.ErrorAs(t, err, &full)
	require.EqualValues(t, now+3001, full.Soonest.UnixMilli(), "used up to there, whatever the clock says")
}

func TestReasons(t *testing.T) {
	t.Parallel()
	held, _, err := opened(t).Acquire(now, "a", request(1))
	require.NoError(t, err)
	b, _, err := held.Acquire(now+1, "b", request(2))
	require.Error(t, err)
	require.ErrorContains(t, Quarantined("", now+1<<40, now, noPin, request(1)), "): no reason is on record;")
	for name, c := range map[string]struct {
		ns          Namespace
		now         int64
		incarnation string
		want        string
	}{
		"nothing":          {Namespace{}, now, "a", "nothing is on record for this namespace"},
		"meta":             {held.WithoutMeta(), now, "a", "the record of the namespace was missing"},
		"slot":             {held.WithoutLease(0), now, "a", "1 of 2 slot records were missing"},
		"both":             {held.WithoutLease(0).WithoutMark(1), now, "a", "1 of 2 slot records were missing; 1 of 2 marks were missing"},
		"all slots":        {Namespace{Meta: held.Meta}, now, "a", "2 of 2 slot records were missing; 2 of 2 marks were missing"},
		"never":            {held.WithoutMark(1), now, "", "1 of 2 marks were missing"},
		"changed":          {held, now, "b", `incarnation of the store changed from "a" to "b"`},
		"flips":            {b, now + 2, "a", `incarnation of the store changed from "b" to "a", back and forth: several servers answer at one address: use the address of one of them (durable: true is only for a store that loses no acknowledged write, unlike a Galera cluster)`},
		"back, much later": {b, now + 60_000, "a", `incarnation of the store changed from "b" to "a"`},
		"a third":          {b, now + 2, "c", `incarnation of the store changed from "b" to "c"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			after, _, err := c.ns.Acquire(c.now, c.incarnation, request(3))
			q := (*lease.QuarantineError)(nil)
			require.ErrorAs(t, err, &q)
			require.Equal(t, c.want, q.Reason)
			require.EqualValues(t, c.now+32_001, q.Until.UnixMilli())
			again, _, err := after.Acquire(c.now+5, c.incarnation, request(3))
			require.ErrorAs(t, err, &q)
			require.True(t, after.Equal(again), "the next look sees nothing new")
		})
	}
	_, _, err = held.Acquire(now+1, "", request(2))
	require.NoError(t, err, "not compared")
}

// A returned value does not change, so a search may keep it.
func TestValues(t *testing.T) {
	t.Parallel()
	held, g, err := opened(t).Acquire(now, "a", request(1))
	require.NoError(t, err)
	before := Namespace{Meta: held.Meta, Slots: slices.Clone(held.Slots)}
	_, _, err = held.Acquire(now+1, "a", request(2))
	require.NoError(t, err)
	_, _, err = held.Renew(now+1, "a", g)
	require.NoError(t, err)
	lost, _, err := held.Renew(now+1, "b", g)
	require.Error(t, err)
	g.MaxLead = g.MaxTTL
	_, _, err = lost.Renew(now+3000, "b", g)
	require.NoError(t, err)
	_, err = held.Release(now+1, "a", g, 0)
	require.NoError(t, err)
	for _, lost := range []Namespace{held.WithoutLease(0), held.WithoutMark(0), held.WithoutOwners(), held.WithoutMeta()} {
		require.False(t, held.Equal(lost))
		require.False(t, lost.Empty())
		_, _, _ = lost.Renew(now+1, "a", g)
	}
	require.True(t, held.Equal(before))
	require.True(t, Namespace{}.Empty())
	require.True(t, Namespace{Slots: make([]Slot, 2)}.Empty())
}

// Whoever the pin refuses stays refused when that is lost, as long as a slot is left that was lent.
func TestShapeOutlivesThePin(t *testing.T) {
	t.Parallel()
	ns, g, err := opened(t).Acquire(now, "a", request(1))
	require.NoError(t, err)
	lost, err := Decode(ns.WithoutMeta().Encode())
	require.NoError(t, err)
	for want, change := range map[string]func(*lease.Request){
		"is pinned to layout={l}, but this process asks for layout={another}": func(r *lease.Request) { r.Layout = "another" },
		"is pinned to pool=2, but this process asks for pool=1":               func(r *lease.Request) { r.Pool, r.Last = 1, 0 },
	} {
		other := request(3)
		change(&other)
		for _, left := range []Namespace{lost, ns.WithoutMeta()} {
			after, _, err := left.Acquire(now, "a", other)
			require.ErrorAs(t, err, new(*lease.MismatchError))
			require.ErrorContains(t, err, want)
			require.True(t, after.Equal(left))
		}
		_, _, err = Namespace{Shape: ns.Shape}.Acquire(now, "a", other)
		require.ErrorAs(t, err, new(*lease.QuarantineError), "all is lost")
	}
	_, _, err = lost.Renew(now, "a", g)
	require.NotErrorIs(t, err, lease.ErrLost)
	mismatch := (*lease.MismatchError)(nil)
	require.False(t, errors.As(err, &mismatch))
}

// TestHoldAfterALoss: if what is left of a part shows no hold, what is created again does.
func TestHoldAfterALoss(t *testing.T) {
	t.Parallel()
	req := request(1)
	ns := Namespace{Meta: Meta{Pin: req.Pin(), Incarnation: "a"}, Part: &Part{Leases: 2, Any: true}}
	after, _, err := ns.Acquire(now, "a", req)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	hold := ms(req.Pin().Hold())
	require.Equal(t, Part{Leases: 2, Marks: 2, Any: true, Hold: hold, Least: hold, Used: hold}, *after.Part)
}

// TestPartsAfterALoss: a store that changes few parts in one step can note the loss of many.
func TestPartsAfterALoss(t *testing.T) {
	t.Parallel()
	req := request(1)
	req.Pool, req.Last = 300, 299
	ns := Namespace{Meta: Meta{Pin: req.Pin(), Incarnation: "a"}, Slots: make([]Slot, 300)}
	after, _, err := ns.Acquire(now, "a", req)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	require.Len(t, after.Parts(), 1+40)
}

// TestHolderIsUTF8: JSON writes what is not as longer text, beyond what is read back.
func TestHolderIsUTF8(t *testing.T) {
	t.Parallel()
	ns := Namespace{Meta: Meta{Pin: request(1).Pin()}, Slots: []Slot{{Token: 1, Holder: strings.Repeat("\xff", lease.MaxHolder)}}}
	_, err := OfParts(ns.Parts())
	require.NoError(t, err)
}

// TestRetiredWithoutItsRecord: a namespace that was retired stays so while any slot is left that was leased.
func TestRetiredWithoutItsRecord(t *testing.T) {
	t.Parallel()
	ns, g, err := opened(t).Acquire(now, "a", request(1))
	require.NoError(t, err)
	ns, err = ns.Retire(now, "a", request(2), "moved")
	require.NoError(t, err)
	lost, err := Decode(ns.WithoutMeta().Encode())
	require.NoError(t, err)
	var mismatch *lease.MismatchError
	_, _, err = lost.Acquire(now, "a", request(2))
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, ns.Meta.Pin, mismatch.Stored)
	_, _, err = lost.Renew(now, "a", g)
	require.ErrorAs(t, err, &mismatch)
	require.Equal(t, ns.Meta.Pin, mismatch.Stored)
}

// TestChoiceBeside: who has lost a race chooses among all that are free, and of its range only.
func TestChoiceBeside(t *testing.T) {
	t.Parallel()
	const now = int64(1_800_000_000_000)
	ns := Namespace{Slots: make([]Slot, 8)}
	for _, held := range []int{1, 4} {
		ns.Slots[held].Expires = now
	}
	seen := map[int64]bool{}
	for skip := range uint32(8) {
		worker, ok := ns.choice(now, lease.Request{First: 1, Last: 6}, skip)
		require.True(t, ok)
		seen[worker] = true
	}
	require.Equal(t, map[int64]bool{2: true, 3: true, 5: true, 6: true}, seen)
}
