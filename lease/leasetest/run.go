package leasetest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A promise is one subtest.
type promise struct {
	says  string
	prove func(t *testing.T, b *bench)
	// alone: it needs faults that concern all of a store, and so one of its own.
	alone bool
	// by tells whether the store makes this promise; nil: every store does.
	by func(b *bench) bool
}

func looksAtIncarnation(b *bench) bool { return b.Traits().Incarnation }

func lendsLeastRecentlyUsed(b *bench) bool { return b.Traits().LeastRecentlyUsed }

func canFlip(b *bench) bool {
	_, ok := b.Store.(Flipper)
	return ok && looksAtIncarnation(b)
}

// centerIs tells whether the store's centers are more than a lease.Center.
func centerIs[T any](b *bench) bool {
	_, ok := b.centers[0].(T)
	return ok
}

// Run proves the promises of package lease, one subtest each. They run in parallel:
// most of them on one store, in namespaces of their own; those that need faults of
// the whole store on one of their own, which newStore makes. Times are compared
// with the center's clock only, so a slow machine does no harm.
//
// The stores' centers should be lease.Listers and lease.Initializers; what cannot
// be shown without is left out.
func Run(t *testing.T, newStore func(testing.TB) Store) {
	t.Helper()
	// The group ends when its parallel subtests have, so Run returns only then.
	t.Run("lease", func(t *testing.T) {
		shared := newBench(t, newStore)
		for _, group := range [][]promise{lending(), holding(), joining(), losing(), failing(), limits()} {
			for _, p := range group {
				if p.by != nil && !p.by(shared) {
					t.Logf("not promised by this store: %s", p.says)
					continue
				}
				t.Run(p.says, func(t *testing.T) {
					t.Parallel()
					b := shared
					if p.alone {
						b = newBench(t, newStore)
					}
					p.prove(t, b)
				})
			}
		}
	})
}

// A bench is a store with two centers on it, as two processes have them.
type bench struct {
	Store
	centers [2]lease.Center
}

// newBench makes a store. Its second center comes when the store has been used, so
// it can not take the store for one that it has just made.
func newBench(t *testing.T, newStore func(testing.TB) Store) *bench {
	t.Helper()
	b := &bench{Store: newStore(t)}
	b.centers[0] = b.Center(t)
	b.centers[1] = b.centers[0]
	_, err := b.open(t, 1).tryAcquire()
	require.NoError(t, err)
	b.centers[1] = b.Center(t)
	return b
}

// uniqueNamespace returns a name that no other subtest has, nor an earlier run.
func uniqueNamespace() string { return fmt.Sprintf("t-%016x", rand.Uint64()) }
