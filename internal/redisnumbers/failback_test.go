//go:build prove

package redisnumbers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

// TestFailoverThereAndBack: a master loses acknowledged writes when it becomes the replica
// of a promoted one that lagged. If it is promoted again before any call reached the
// other, it still has the run_id on record.
func TestFailoverThereAndBack(t *testing.T) {
	t.Parallel()
	redistest.EachPair(t, map[string]func(t *testing.T, p redistest.Pair){
		"segments": func(t *testing.T, p redistest.Pair) {
			n := newStore(t, p.Store)
			require.NoError(t, n.Create(t.Context(), "shop/orders", 1))
			p.Stale()
			given, err := n.Reserve(t.Context(), asking(10))
			require.NoError(t, err)
			p.Back()
			_, err = n.Reserve(t.Context(), asking(10))
			require.ErrorIs(t, err, redisnumbers.ErrChanged)
			require.NoError(t, n.Advance(t.Context(), "shop/orders", given.Last))
			again, err := n.Reserve(t.Context(), asking(10))
			require.NoError(t, err)
			require.Equal(t, given.Last+1, again.First)
		},
		"dispenser": func(t *testing.T, p redistest.Pair) {
			b := new(segmentcheck.Memory)
			process := func() *numbers.Segment {
				return issuer(t, dispenser(t, p.Client(t), b, ordered(100)), ordered(100))
			}
			one := process()
			all := take(t, one, 10)
			p.Stale()
			all = append(all, take(t, one, 50)...)
			p.Back()
			require.IsIncreasing(t, append(all, take(t, process(), 60)...))
		},
	})
}
