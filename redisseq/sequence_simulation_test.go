package redisseq_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/redisseq"
)

// TestSequenceSimulation does at random what a Redis may do, and what its callers may,
// from seeds. What is reserved must lie above all that ever was.
func TestSequenceSimulation(t *testing.T) {
	t.Parallel()
	reserved, refused, lost := 0, 0, 0
	for seed := range uint64(30) {
		r := rig{newMini(t), t, redisseq.SequenceScript()}
		rnd := rand.New(rand.NewPCG(seed, 0))
		members := []*redisseq.Sequence{r.member(), r.member(), r.member()}
		top := int64(0)
		// A record that is restored may lack a step back of the clock, or have it.
		var restore func()
		stepped := false
		// covered: all that was reserved lies within MaxAhead and Skew of the clock.
		covered := func() bool { return top/perTick <= (r.now()/1000-phpLayout.Epoch)+10+5 }
		notice := func() { // before the clock is set back again
			lost++
			r.requireQuarantine(r.member())
		}
		for step := range 120 {
			switch rnd.IntN(16) {
			case 0:
				r.Sleep(time.Duration(rnd.IntN(3000)) * time.Millisecond)
			case 1:
				r.Sleep(-time.Duration(rnd.IntN(5000)) * time.Microsecond)
				stepped = true
			case 2:
				r.Sleep(-time.Duration(rnd.IntN(60)) * time.Second)
				stepped = true
			case 3:
				if covered() {
					r.Wipe(t)
					restore = nil
					notice()
				}
			case 4:
				restore, stepped = r.Snapshot(t), false
			case 5:
				if restore != nil && (!stepped || covered()) {
					restore()
					r.Reincarnate(t)
					notice()
				}
			case 6:
				r.Reincarnate(t)
			case 7:
				members[rnd.IntN(len(members))].Forget()
			default:
				r.Sleep(time.Duration(rnd.IntN(20_000)) * time.Microsecond)
				n := 1 + rnd.Int64N(1<<rnd.IntN(18))
				first, got, err := members[rnd.IntN(len(members))].Reserve(t.Context(), n)
				if err != nil {
					refused++
					continue
				}
				require.Greater(t, first, top, "seed %d, step %d", seed, step)
				require.LessOrEqual(t, got, n)
				top = first + got - 1
				reserved++
			}
		}
	}
	require.Greater(t, reserved, 100)
	require.Greater(t, refused, 100)
	require.Greater(t, lost, 10)
}
