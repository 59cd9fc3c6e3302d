package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/idworker/snowflake"
)

// A process that runs on while its host's clock and the centre's come apart keeps its
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
