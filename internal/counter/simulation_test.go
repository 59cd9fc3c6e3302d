//go:build prove

package counter_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
)

// TestSequenceSimulation runs random actions of a Redis and its callers, from a seed. Reserved
// values must lie above all earlier ones.
func TestSequenceSimulation(t *testing.T) {
	t.Parallel()
	reserved, refused, lost := 0, 0, 0
	for seed := range uint64(30) {
		r := rig{redistest.NewMini(t), t}
		rnd := rand.New(rand.NewPCG(seed, 0))
		members, other := []*counter.Counter{r.member(), r.member(), r.member()}, r.member()
		newcomer := func() *counter.Counter {
			other.Forget()
			return other
		}
		top := int64(0)
		// A record may not reflect a step back of the clock: unseen is for the current
		// record, stepped for the one to restore.
		var restore func()
		unseen, stepped := false, false
		// covered reports whether a loss is allowed: the clock is at most Skew behind the
		// latest that a lead was measured from, or all reserved values lie within MaxAhead
		// and Skew of it.
		latest := int64(0)
		covered := func() bool {
			return r.now() >= latest-5_000 || top/perTick <= (r.now()/1000-phpLayout.Epoch)+10+5
		}
		back := func(d time.Duration) {
			r.Sleep(-d)
			unseen, stepped = true, true
		}
		notice := func() { // before the clock is set back again
			lost++
			_, _, _ = newcomer().Reserve(t.Context(), 0)
			unseen, latest = false, max(latest, r.field("at"))
		}
		wipe := func() {
			if covered() {
				r.Wipe(t)
				restore = nil
				notice()
			}
		}
		reserve := func(m *counter.Counter, n int64) {
			first, got, err := m.Reserve(t.Context(), n)
			unseen, latest = false, max(latest, r.field("at"))
			if err != nil {
				refused++
				return
			}
			require.Greater(t, first, top, "seed %d", seed)
			require.LessOrEqual(t, got, n)
			top = first + got - 1
			reserved++
		}
		for range 120 {
			switch rnd.IntN(18) {
			case 0:
				r.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
			case 1:
				back(time.Duration(rnd.IntN(5000)) * time.Microsecond)
			case 2:
				back(time.Duration(rnd.IntN(60)) * time.Second)
			case 3:
				wipe()
			case 4: // repeated losses, each noticed by the slowest allowed clock
				for range 2 + rnd.IntN(3) {
					wipe()
					r.Sleep(time.Duration(rnd.IntN(8)) * time.Millisecond)
					reserve(newcomer(), 1+rnd.Int64N(1<<16))
					back(5 * time.Millisecond)
				}
			case 5:
				restore, stepped = r.Snapshot(t), unseen
			case 6, 7:
				if restore != nil && (!stepped || covered()) {
					restore()
					r.Reincarnate(t)
					notice()
				}
			case 8:
				r.Reincarnate(t)
			case 9:
				members[rnd.IntN(len(members))].Forget()
			default:
				r.Sleep(time.Duration(rnd.IntN(20_000)) * time.Microsecond)
				reserve(members[rnd.IntN(len(members))], 1+rnd.Int64N(1<<rnd.IntN(18)))
			}
		}
	}
	t.Logf("%d calls gave values, %d were refused, %d losses", reserved, refused, lost)
	require.Greater(t, reserved, 100)
	require.Greater(t, refused, 100)
	require.Greater(t, lost, 10)
}
