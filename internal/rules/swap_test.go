package rules

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A range that begins right above the quarantine is extended. One that begins a
// millisecond lower is not.
func TestExtendedFromTheQuarantineOn(t *testing.T) {
	t.Parallel()
	for _, below := range []int64{0, 1} {
		ns, g, at := lost(t)
		ns, _, err := ns.Renew(at, "b", g)
		require.Error(t, err)
		horizon := ns.Meta.Quarantine
		ns = ns.with(0, func(s *Slot) { s.Floor, s.Mark = horizon-below, horizon })
		_, renewed, err := ns.Renew(at+3001, "b", g)
		require.NoError(t, err)
		require.Equal(t, horizon, renewed.Floor)
		require.Equal(t, below == 1, renewed.Token > g.Token, "another range has another token")
	}
}

// If the clock stepped back by more than the skew, a mark may lie above the quarantine.
// The holder's next range is above both.
func TestSwapAboveTheMark(t *testing.T) {
	t.Parallel()
	ns, g, at := lost(t)
	at -= 30_000
	ns, _, err := ns.Renew(at, "b", g)
	require.Error(t, err)
	require.Less(t, ns.Meta.Quarantine, g.Ceiling)
	_, next, err := ns.Renew(g.Ceiling-29_000+1, "b", g)
	require.NoError(t, err)
	require.Equal(t, g.Ceiling, next.Floor)
}

// A failover that nobody notices forgets a swap. The next swap has its own token.
func TestSwapsInOneMillisecond(t *testing.T) {
	t.Parallel()
	ns, g, at := lost(t)
	ns, _, err := ns.Renew(at, "b", g)
	require.Error(t, err)
	_, next, err := ns.Renew(at+3001, "b", g)
	require.NoError(t, err)
	_, another, err := ns.Renew(at+3001, "b", next)
	require.NoError(t, err)
	require.Greater(t, another.Token, next.Token)
}
