//go:build prove

package counter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
)

// TestFailoverThereAndBack: a master loses acknowledged writes when it becomes the replica
// of a promoted one that lagged. If it is promoted again before any call reached the
// other, the recorded run_id is still its own.
func TestFailoverThereAndBack(t *testing.T) {
	t.Parallel()
	redistest.EachPair(t, map[string]func(t *testing.T, p redistest.Pair){
		"sequence": func(t *testing.T, p redistest.Pair) {
			r := rig{p.Store, t}
			process := func() *counter.Counter {
				return r.member(func(c *counter.Config) { c.Layout.SequenceBits, c.MaxAhead = 4, time.Minute })
			}
			m := process()
			p.Sleep(r.requireQuarantine(m).Wait() + time.Second)
			r.reserve(m, 1)
			p.Stale()
			_, last := r.reserve(m, 320_000) // 20 s of the lead
			p.Back()
			p.Sleep(r.requireQuarantine(process()).Wait() + time.Second)
			first, _ := r.reserve(process(), 1)
			require.Greater(t, first, last)
		},
	})
}
