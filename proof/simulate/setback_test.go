package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/snowflake"
)

// TestCenterSetBack checks that, after the center's clock was set back, its holder
// still makes ids between renewals, at a pace that makes the range last.
func TestCenterSetBack(t *testing.T) {
	for _, back := range []time.Duration{second / 10, second / 2, second, 10 * second} {
		for name, subject := range stores {
			t.Run(back.String()+"/"+name, func(t *testing.T) {
				t.Parallel()
				p := fair(1, 1, Fault{At: 5 * second, Kind: StepCenter, By: -back})
				r := Run(t, p, subject)
				require.True(t, r.OK(), "%s", r)
				last, longest := 5*second, time.Duration(0)
				for _, e := range r.Events {
					if e.What == "issued" && e.At > last && e.At < p.Length {
						longest, last = max(longest, e.At-last), e.At
					}
				}
				// Two thirds of the TTL are left. At times 24 ids are wanted at once,
				// a tick has 4, and for 10 ms none are wanted.
				left := 2*p.MaxTTL/3 - p.Ahead
				left -= min(left/2, 300*time.Millisecond) // for the time of a renewal
				require.LessOrEqual(t, longest, 12*p.Layout.TimeUnit*max(1, back/left)+20*time.Millisecond)
				t.Logf("none for %v at most", longest)
			})
		}
	}
}

const second = time.Second

// fair is a plan without trouble: TTL 1 s, skew 100 ms, a fast network.
func fair(nodes int, pool int64, faults ...Fault) Plan {
	p := Plan{
		Pool: pool, MaxTTL: second, Skew: second / 10, Wait: 10 * second, Length: 20 * second, Faults: faults,
		Layout: snowflake.Layout{Epoch: 946684800000, WorkerBits: 2, SequenceBits: 2}.WithDefaults(),
		Ahead:  5 * time.Millisecond, Net: Net{Delay: time.Millisecond},
	}
	for i := range nodes {
		p.Nodes = append(p.Nodes, Node{Start: time.Duration(i) * second / 10, TTL: second, Rate: 100, Issue: 5 * time.Millisecond})
	}
	return p
}
