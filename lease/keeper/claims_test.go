package keeper_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/keeper"
	"github.com/snowlease/snowlease/snowflake"
)

// A process that runs on while its host's clock and the center's come apart keeps its
// lease; once that is lost it gets no other before the clocks agree again.
func TestHostsClockVetoesABorrow(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		r.start()
		r.next()
		r.center.Advance(10 * time.Minute)
		time.Sleep(2 * time.Minute)
		_, err := r.gen.NextID()
		require.ErrorIs(t, err, snowflake.ErrLeaseExpired)
		var c *lease.ClockError
		require.ErrorAs(t, r.keeper.Status().Err, &c)
		r.center.Advance(-10 * time.Minute)
		time.Sleep(time.Minute)
		r.next()
	})
}

// An outage of 17 s, less a moment, costs no lease whenever it begins; docs/configuration.md
// has the sum. One of 30 s always does.
func TestOutagesThatCostNothing(t *testing.T) {
	const short = 30*time.Second - 10*time.Second - 2*time.Second - time.Second - 50*time.Millisecond
	for begins := time.Duration(0); begins < 12*time.Second; begins += 300 * time.Millisecond {
		for outage, lost := range map[time.Duration]int32{short: 0, 30 * time.Second: 1} {
			bubble(t, func(t *testing.T, r *rig) {
				r.member(func(c *keeper.Config) {
					c.Jitter = func(d time.Duration) time.Duration {
						if d == 10*time.Second {
							return d // renewals as late as can be
						}
						return d * 95 / 100
					}
				})
				r.start()
				time.Sleep(begins)
				worker := r.next().Worker
				up := r.down()
				time.Sleep(outage)
				up()
				time.Sleep(5 * time.Second)
				require.Equal(t, lost, r.losses.Load(), "%v after the start for %v", begins, outage)
				if id := r.next(); lost == 0 {
					require.Equal(t, worker, id.Worker)
				}
			})
		}
	}
}
