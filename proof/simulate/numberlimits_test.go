package simulate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/snowflake"
)

// strictly is a plan for a Sequence in strict order on a fast network.
func strictly(unit, skew time.Duration) Plan {
	p := (&NumberPlan{
		Source: Sequence, Strict: true,
		Sequence: counter.Config{
			Namespace: "sim", MaxAhead: 200 * time.Millisecond, Skew: skew, Prefetch: 1,
			Layout: snowflake.Layout{Epoch: 946684800000, TimeUnit: unit, WorkerBits: 2, SequenceBits: 2},
		},
	}).Plan()
	p.Net.Delay = time.Millisecond
	return p
}

// TestSequenceLimits shows that faults beyond the promises of a Sequence break a rule, and
// that faults just within them do not. Three processes use up the lead. The clock of Redis
// is set back at 5 s. Later all processes are replaced, and Redis loses its records.
func TestSequenceLimits(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name       string
		back, loss time.Duration
		unique     bool
	}{
		{"clock back by the skew, then a loss", 100 * ms, 5 * second, true},
		{"clock back by the skew, a loss later", 100 * ms, 5*second + 150*ms, true},
		// Ids continue at half the pace while the clock lags. When the clock has caught up,
		// they are ahead of it by half the step, and level with it only after as long again.
		{"clock far back, a loss when it shows again what it had shown", 5 * second, 10*second + 200*ms, false},
		{"clock far back, a loss after twice as long", 5 * second, 15 * second, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := strictly(100*ms, 100*ms)
			p.Length, p.Faults = 20*second, []Fault{{Kind: StepCenter, At: 5*second - ms, By: -test.back}}
			for i := range 3 {
				p.Nodes = append(p.Nodes, Node{Start: 100 * ms, Issue: 20 * ms})
				p.Faults = append(p.Faults, Fault{Kind: Crash, Node: i, At: test.loss, For: 50 * ms})
			}
			p.Faults = append(p.Faults, Fault{Kind: Wipe, At: test.loss + ms})
			r := Run(t, p, Numbers{})
			require.NoError(t, r.Err)
			require.Equal(t, test.unique, r.OK(), "%s", r)
			require.Equal(t, test.unique, r.Broken[Duplicate] == 0)
		})
	}
}

// TestSequenceLossesInARow lets processes use up the lead and lose all records again
// and again, while the clock is set back by the skew. No id is issued twice; without a
// part of the rule some are.
func TestSequenceLossesInARow(t *testing.T) {
	const (
		ms   = time.Millisecond
		skew = 100 * ms
		lead = `local limit = math.min(tickOf(at) + ahead, last)`
	)
	for name, subject := range map[string]Numbers{
		"nothing":       {},
		"the wait":      lua(t, `ready > now then`, `false then`, lead, `local limit = math.max(tickOf(at) + ahead, quarantine > 0 and first or 0)`, known, unheeded),
		"the last tick": lua(t, `(ahead + 1) * unit + skew`, `ahead * unit + skew`, known, unheeded),
		"the skew":      lua(t, `(ahead + 1) * unit + skew`, `(ahead + 1) * unit`, known, unheeded),
	} {
		t.Run("without "+name, func(t *testing.T) {
			t.Parallel()
			twice := 0
			for _, between := range []time.Duration{20 * ms, 60 * ms, 230 * ms} {
				p := strictly(50*ms, skew)
				p.Length = 7 * second
				for range 3 {
					p.Nodes = append(p.Nodes, Node{Start: 100 * ms, Issue: 5 * ms})
				}
				for at := second; at < 6*second; at += second {
					back := skew // later also by what the clock has caught up
					for n := range time.Duration(4) {
						loss := at + n*between
						p.Faults = append(p.Faults, Fault{Kind: StepCenter, At: loss - ms, By: -back}, Fault{Kind: Wipe, At: loss})
						back = min(skew, between)
					}
				}
				r := Run(t, p, subject)
				require.NoError(t, r.Err)
				require.Greater(t, r.IDs, 100)
				twice += r.Broken[Duplicate]
				require.True(t, r.OK() || name != "nothing", "%s", r)
			}
			require.Equal(t, name != "nothing", twice > 0)
			t.Logf("%d ids came twice", twice)
		})
	}
}
