package rules

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

func example(t *testing.T) Namespace {
	t.Helper()
	req := lease.Request{
		Namespace: "n", Layout: "l", Holder: "shop@host \"1\"", Owner: lease.NewOwner(),
		Pool: 3, Last: 2, TTL: time.Second, MaxTTL: time.Second, Skew: 10 * time.Millisecond,
	}
	ns, err := Namespace{}.Init("a", req)
	require.NoError(t, err)
	ns, g, err := ns.Acquire(1000, "a", req)
	require.NoError(t, err)
	req.Owner = lease.NewOwner()
	ns, _, err = ns.Acquire(1001, "a", req)
	require.NoError(t, err)
	ns, err = ns.Release(1002, "a", g, 1001)
	require.NoError(t, err)
	return ns
}

func TestRecordRoundTrip(t *testing.T) {
	t.Parallel()
	whole := example(t)
	for name, ns := range map[string]Namespace{
		"whole": whole, "no lease": whole.WithoutLease(1), "no mark": whole.WithoutMark(2), "no owners": whole.WithoutOwners(),
		"a lost part": whole.with(0, func(s *Slot) { *s = Slot{} }), "announced": Namespace{}.Announced([16]byte{1}),
	} {
		got, err := Decode(ns.Encode())
		require.NoError(t, err, name)
		require.True(t, ns.Equal(got), "%s: %+v is not %+v", name, got, ns)
	}

	// Without the part of the namespace, worker ids that were never lent do not show.
	got, err := Decode(whole.WithoutMeta().Encode())
	require.NoError(t, err)
	require.Equal(t, whole.Slots[:2], got.Slots)
	require.Zero(t, got.Meta)
}

// A part that the part of the namespace does not count is there, in whatever order they come.
func TestPartsBeyondThoseCounted(t *testing.T) {
	meta := Namespace{}.Announced([16]byte{1}).Parts()
	meta["1"] = NeverLent
	for range 100 {
		ns, err := OfParts(meta)
		require.NoError(t, err)
		require.Len(t, ns.Slots, 2)
	}
}
