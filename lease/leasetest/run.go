package leasetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// A promise is one subtest.
type promise struct {
	says  string
	prove func(t *testing.T, b *bench)
	// alone is set if the promise needs its own store, because it makes the whole store fail.
	alone bool
	timed bool // it has bounds of real time, so nothing runs at the same time
	// by reports whether the store makes this promise. If nil, every store does.
	by func(b *bench) bool
}

func looksAtIncarnation(b *bench) bool { return b.Traits().Incarnation }

func lendsLeastRecentlyUsed(b *bench) bool { return b.Traits().LeastRecentlyUsed }

func canFlip(b *bench) bool {
	_, ok := b.Store.(flipper)
	return ok && looksAtIncarnation(b)
}

func lists(b *bench) bool { return b.centers[0].Extras().Lister != nil }

func inits(b *bench) bool { return b.centers[0].Extras().Init != nil }

// Run tests the promises of package lease, each in a subtest. The subtests run in parallel. Most
// share a store and use their own namespace. Subtests that make the whole store fail call
// newStore for their own. Times are compared only with the center's clock, so a slow machine does
// no harm.
//
// The stores' centers should have a Lister and Init among their Extras. Without them, Run leaves
// out the promises that need them.
func Run(t *testing.T, newStore func(testing.TB) Store) {
	t.Helper()
	// The group makes Run wait for its parallel subtests.
	t.Run("lease", func(t *testing.T) {
		shared := newBench(t, newStore)
		for _, group := range [][]promise{lending(), holding(), joining(), losing(), editing(), failing(), limits()} {
			for _, p := range group {
				if p.by != nil && !p.by(shared) {
					t.Logf("this store does not promise: %s", p.says)
					continue
				}
				t.Run(p.says, func(t *testing.T) {
					if !p.timed {
						t.Parallel()
					}
					if shared.Traits().Bubble {
						synctest.Test(t, func(t *testing.T) { p.prove(t, newBench(t, newStore)) })
						return
					}
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

// A bench is a store with two centers, as two processes have them.
type bench struct {
	Store
	centers [2]lease.Center
}

// newBench makes a store. It makes the second center after a use of the store, so that the center
// does not rely on having created the store.
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

// uniqueNamespace returns a name that no other subtest or earlier run uses.
func uniqueNamespace() string { return fmt.Sprintf("t-%016x", rand.Uint64()) }
