package lease_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A store may hold any text. What is kept of it, and shown, is bounded.
func TestLongPin(t *testing.T) {
	t.Parallel()
	for _, begin := range []string{"", "retired: ", "layout={", "layout={a} pool=2 max_ttl=1m0s skew=1s "} {
		text := begin + strings.Repeat("a=1 ", 1<<18)
		p := lease.ParsePin(text)
		require.LessOrEqual(t, len(p.String()), 1025)
		require.True(t, strings.HasPrefix(text, p.String()))
		require.ErrorContains(t, p.Err(), "is not a valid pin")
		require.False(t, p.Retired)
	}
	long := lease.Pin{Layout: strings.Repeat("a=1 ", 1<<18), Pool: 2, MaxTTL: time.Minute}
	e := &lease.MismatchError{Namespace: "orders", Stored: long, Asked: long}
	require.Less(t, len(e.Error()), 3000)
	require.Equal(t, lease.ParsePin(strings.Repeat("x", 1024)).String(), strings.Repeat("x", 1024))
}
