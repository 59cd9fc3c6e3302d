package redisseq_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

func TestContract(t *testing.T) {
	for name, engine := range map[string]func(testing.TB) leasetest.Store{
		"miniredis": func(t testing.TB) leasetest.Store { return flipping{newMini(t)} },
		"redis":     func(t testing.TB) leasetest.Store { return newReal(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.Run(t, engine)
		})
	}
}

// A flipping store can return to its last incarnation.
type flipping struct{ *store }

func (s flipping) Flip(testing.TB) { s.Run.Add(-1) }

func TestOperator(t *testing.T) {
	for name, engine := range map[string]func(testing.TB) leasetest.Store{
		"miniredis": func(t testing.TB) leasetest.Store { return newMini(t) },
		"redis":     func(t testing.TB) leasetest.Store { return newReal(t) },
		"never":     newNever,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.RunOperator(t, engine)
		})
	}
}

// newNever returns a store whose incarnations are not compared.
func newNever(t testing.TB) leasetest.Store {
	s := newMini(t, redisseq.WithQuarantine(lease.QuarantineNever))
	s.withoutIncarnation = true
	return s
}

// A pin of a form that only another version knows refuses every member, and stays.
func TestPinOfAnotherVersion(t *testing.T) {
	t.Parallel()
	s := newMini(t)
	c := opened(t, s)
	const pin = "form=2 layout={other}"
	require.NoError(t, s.Admin.HSet(t.Context(), keys("orders")[3], "pin", pin).Err())
	_, err := c.Acquire(t.Context(), request())
	require.ErrorAs(t, err, new(*lease.MismatchError))
	rec, err := c.Extras().Operator.Record(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, pin, rec.Pin.String())
}
