//go:build prove

package hostseq

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Processes start, issue ids and end, most of them killed, with clocks that differ by
// less than MaxBehind.
func TestNoIDTwiceOnAHost(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dir, lanes := t.TempDir(), make([][]int64, 3)
	var wg sync.WaitGroup
	for lane := range lanes {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(lane)))
			for range 12 {
				p := start(t, role{Config: Config{Dir: dir}, Layout: narrow, Offset: time.Duration(rng.IntN(120)-60) * time.Second})
				p.must("acquire", 0)
				for range rng.IntN(4) {
					if rng.IntN(2) == 0 {
						p.must("renew", 0)
					}
					lanes[lane] = append(lanes[lane], p.must("ids", 1+rng.IntN(300)).IDs...)
				}
				if rng.IntN(3) == 0 {
					p.must("release", 0)
				}
				p.kill()
			}
		})
	}
	wg.Wait()
	require.Zero(t, repeated(slices.Concat(lanes...)))
	require.Greater(t, len(slices.Concat(lanes...)), 1000)
}
