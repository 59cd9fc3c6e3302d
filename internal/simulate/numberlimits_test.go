package simulate_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/snowflake"
	"github.com/snowlease/snowlease/internal/simulate"
	"github.com/snowlease/snowlease/redisseq"
)

// TestSequenceLimits: what a Sequence does not promise goes wrong, and goes well within
// the bounds of what it does. Three processes use up the lead; the clock of Redis is set
// back at 5 s; later all of them are replaced, and Redis loses its records.
func TestSequenceLimits(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name       string
		back, loss time.Duration
		unique     bool
	}{
		{"clock back by the skew, then a loss", 100 * ms, 5 * second, true},
		{"clock back by the skew, a loss later", 100 * ms, 5*second + 150*ms, true},
		// Ids go on at half the pace while the clock is behind. When it shows again what
		// it had shown they are ahead of it by half of the step, and level with it only
		// after as long again.
		{"clock far back, a loss when it shows again what it had shown", 5 * second, 10*second + 200*ms, false},
		{"clock far back, a loss after twice as long", 5 * second, 15 * second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := simulate.NumberPlan{
				Source: simulate.Sequence, Strict: true, Length: 20 * second, Net: simulate.Net{Delay: ms},
				Sequence: redisseq.SequenceConfig{
					Namespace: "sim", MaxAhead: 200 * ms, Skew: 100 * ms, Prefetch: 1,
					Layout: snowflake.Layout{Epoch: 915148800000, TimeUnit: 100 * ms, WorkerBits: 2, SequenceBits: 2},
				},
				Faults: []simulate.Fault{{Kind: simulate.StepCenter, At: 5*second - ms, By: -test.back}},
			}
			for i := range 3 {
				p.Nodes = append(p.Nodes, simulate.Node{Start: 100 * ms, Issue: 20 * ms})
				p.Faults = append(p.Faults, simulate.Fault{Kind: simulate.Crash, Node: i, At: test.loss, For: 50 * ms})
			}
			p.Faults = append(p.Faults, simulate.Fault{Kind: simulate.Wipe, At: test.loss + ms})
			r := simulate.RunNumbers(t, p, simulate.NumberSubject{})
			require.NoError(t, r.Err)
			require.Equal(t, test.unique, r.OK(), "%s", r)
			require.Equal(t, test.unique, r.Broken[simulate.Duplicate] == 0)
		})
	}
}
