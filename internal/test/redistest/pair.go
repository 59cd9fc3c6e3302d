package redistest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A Pair is a master that fails over to its replica and back.
type Pair struct {
	*Store
	Stale func()              // stops replication
	Back  func()              // promotes the replica, then lets the master follow it, and promotes the master again
	Sleep func(time.Duration) // on the master's clock
}

// miniPair imitates a Pair: it changes data and incarnation in the same way.
func miniPair(t testing.TB) Pair {
	s := NewMini(t)
	var restore func()
	return Pair{
		Store: s,
		Stale: func() { restore = s.Snapshot(t) },
		Back: func() {
			restore()
			s.Replid.Add(1)
		},
		Sleep: s.Sleep,
	}
}

func realPair(t testing.TB) Pair {
	s, primary, replica := StartReplicated(t)
	runID := func() string { return s.Admin.InfoMap(t.Context(), "server").Item("Server", "run_id") }
	return Pair{
		Store: s,
		Stale: func() {
			replica.Follow(primary) // has all data so far
			replica.CutLink()
		},
		Back: func() {
			before := runID()
			replica.Promote()
			primary.Follow(replica)
			primary.Promote()
			require.NotEmpty(t, before)
			require.Equal(t, before, runID())
		},
		Sleep: s.Sleep,
	}
}

// EachPair runs attacks on a Pair of each engine.
func EachPair(t *testing.T, attacks map[string]func(t *testing.T, p Pair)) {
	for engine, start := range map[string]func(testing.TB) Pair{"miniredis": miniPair, "redis": realPair} {
		for name, attack := range attacks {
			t.Run(engine+"/"+name, func(t *testing.T) {
				t.Parallel()
				attack(t, start(t))
			})
		}
	}
}
