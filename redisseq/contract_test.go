package redisseq_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
	"github.com/snowlease/snowlease/redisseq"
)

func TestContract(t *testing.T) {
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		leasetest.Run(t, func(t testing.TB) leasetest.Store { return flipping{newMini(t)} })
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		leasetest.Run(t, reused(t, func(t testing.TB) *store { return newReal(t) }))
	})
}

// reused returns a function that starts servers for subtests of t, or empties one that another
// subtest has left.
func reused(t testing.TB, start func(testing.TB) *store) func(testing.TB) leasetest.Store {
	var mu sync.Mutex
	free := []*store{start(t)} // here, where it may leave out all
	return func(sub testing.TB) leasetest.Store {
		mu.Lock()
		defer mu.Unlock()
		if len(free) == 0 {
			free = append(free, start(t))
		}
		s := free[len(free)-1]
		free = free[:len(free)-1]
		s.Wipe(t)
		sub.Cleanup(func() {
			mu.Lock()
			defer mu.Unlock()
			free = append(free, s)
		})
		return s
	}
}

// A flipping store can return to its last incarnation.
type flipping struct{ *store }

func (s flipping) Flip(testing.TB) { s.Run.Add(-1) }

func TestOperator(t *testing.T) {
	for name, engine := range map[string]func(testing.TB) leasetest.Store{
		"miniredis": func(t testing.TB) leasetest.Store { return newMini(t) },
		"redis":     nil,
		"never":     newNever,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if engine == nil {
				engine = reused(t, func(t testing.TB) *store { return newReal(t) })
			}
			leasetest.RunOperator(t, engine)
		})
	}
}

// newNever returns a store whose incarnations are not compared.
func newNever(t testing.TB) leasetest.Store {
	s := newMini(t, redisseq.WithDurable(true))
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
