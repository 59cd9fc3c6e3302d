package redisseq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestContract(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.Run(t, func(t testing.TB) leasetest.Store { return engine(t) })
		})
	}
}

// A pin of a form that only another version knows refuses every member, and stays.
func TestPinOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := engine(t)
			c := opened(t, s)
			const pin = "form=2 layout={other}"
			require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[3], "pin", pin).Err())
			_, err := c.Acquire(t.Context(), request())
			var mismatch *lease.MismatchError
			require.ErrorAs(t, err, &mismatch)
			rec, err := c.Extras().Operator.Record(t.Context(), "orders")
			require.NoError(t, err)
			require.Equal(t, pin, rec.Pin.String())
		})
	}
}
