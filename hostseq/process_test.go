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

func TestProcessesGetSlotsOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := role{Config: Config{Dir: t.TempDir()}, Layout: narrow}
	const many, full = 10, "no free worker id"
	processes, answers := make([]*process, many), make([]answer, many)
	for i := range processes {
		processes[i] = start(t, r)
	}
	var wg sync.WaitGroup
	for i, p := range processes {
		wg.Go(func() { answers[i] = p.do("acquire", 0) })
	}
	wg.Wait()
	holders := map[int64]*process{}
	for i, a := range answers {
		if a.Err != "" {
			require.Contains(t, a.Err, full)
			continue
		}
		require.NotContains(t, holders, a.Grant.Worker)
		holders[a.Grant.Worker] = processes[i]
	}
	require.Len(t, holders, 4)

	late := start(t, r)
	require.Contains(t, late.do("acquire", 0).Err, full)

	// A process that is killed loses its slot, and what it used is skipped.
	last := holders[1].must("renew", 0)
	used := holders[1].must("ids", 1000).IDs[999]
	holders[1].kill()
	a := late.must("acquire", 0)
	require.Equal(t, int64(1), a.Grant.Worker)
	require.GreaterOrEqual(t, a.Grant.Floor, last.Grant.Ceiling)
	require.Greater(t, late.must("ids", 1).IDs[0], used)
	require.Equal(t, int64(2), holders[2].must("renew", 0).Grant.Worker)

	// A slot that was given back is available at once.
	holders[3].must("release", 0)
	require.Equal(t, int64(3), start(t, r).must("acquire", 0).Grant.Worker)
}

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
