package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/snowflake"
)

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

// across is a plan in which the only holder freezes, the center's clock steps back,
// and the records are lost.
func across(back time.Duration) Plan {
	return fair(2, 1,
		Fault{At: 3 * second, Kind: Freeze, Node: 0, For: 16 * second},
		Fault{At: 3*second + 1, Kind: StepCenter, By: -back},
		Fault{At: 3*second + 2, Kind: Wipe},
	)
}

// TestLimits shows that faults beyond the promises break a rule, and that faults just
// within them do not.
func TestLimits(t *testing.T) {
	// Two former holders are frozen while the records are lost. Nobody borrows the
	// worker id after the quarantine. The clock steps back before the time of either.
	// The one that lost it first wakes first.
	after := func(back time.Duration) Plan {
		p := fair(3, 1,
			Fault{At: 2 * second, Kind: Freeze, Node: 0, For: 10 * second},
			Fault{At: 5 * second, Kind: Freeze, Node: 1, For: 14 * second},
			Fault{At: 5*second + 1, Kind: Wipe},
			Fault{At: 5*second + second/2, Kind: Cut, Node: 2, For: 14 * second},
			Fault{At: 8 * second, Kind: StepCenter, By: -back},
		)
		p.Nodes[2].Start = 5*second + second/10 // notices the loss
		return p
	}
	for _, test := range []struct {
		name   string
		plan   Plan
		unique bool
	}{
		{"clock back by the skew across a loss", across(second / 10), true},
		{"clock further back than the skew across a loss", across(5 * second), false},
		{"clock back by the skew after a loss", after(second / 10), true},
		{"clock far back after a loss", after(9*second + 7*second/10), true},
	} {
		for name, subject := range stores {
			t.Run(test.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := Run(t, test.plan, subject)
				require.NoError(t, r.Err)
				if test.unique {
					require.True(t, r.OK(), "%s", r)
				} else {
					require.NotZero(t, r.Broken[Duplicate], "%s", r)
				}
			})
		}
	}
}

// TestRevived plays a failover that restores the record of a former holder and forgets
// what was lent above it.
func TestRevived(t *testing.T) {
	for name, subject := range stores {
		play(t, name, 8, revivedBelow, subject)
	}
}
