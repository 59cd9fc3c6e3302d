//go:build prove

package redisseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
)

// TestFailoverThereAndBack: a master loses acknowledged writes when it becomes the replica
// of a promoted one that lagged. If it is promoted again before any call reached the
// other, it still has the run_id on record.
func TestFailoverThereAndBack(t *testing.T) {
	t.Parallel()
	redistest.EachPair(t, map[string]func(t *testing.T, p redistest.Pair){
		"leases": func(t *testing.T, p redistest.Pair) {
			c := opened(t, &store{Store: p.Store}, pool(1))
			p.Stale()
			g := acquire(t, c, pool(1))
			p.Back()
			q := requireQuarantine(t, c, pool(1))
			require.Contains(t, q.Reason, "incarnation of the store changed")
			p.Sleep(q.Wait() + time.Second)
			next := acquire(t, c, pool(1))
			require.Equal(t, g.Worker, next.Worker)
			require.GreaterOrEqual(t, next.Floor, g.Ceiling)
		},
	})
}
