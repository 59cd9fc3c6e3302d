package load

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// often renews every 10 s, as by default, but with leases that last for minutes. So
// the load is the usual one, and a busy machine loses no lease.
type often struct{}

func (often) Next(t time.Time) time.Time { return t.Add(10 * time.Second) }

// 1,000 keepers start at once on 1,024 worker ids. Then the pool is filled, holds
// through renewals and while the server stands still, and is given back.
func TestManyKeepers(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, e, workers, 5*time.Minute, often{})
			late := f.keepers[1000:]
			f.keepers = f.keepers[:1000]

			began := time.Now()
			require.NoError(t, f.start(t.Context()))
			held := f.lent()
			require.Len(t, held, 1000)
			require.Len(t, slices.Compact(held), 1000, "all distinct")
			t.Logf("1,000 have started within %v", time.Since(began).Round(time.Millisecond))

			for _, k := range late {
				require.NoError(t, k.Start(t.Context()))
			}
			f.keepers = append(f.keepers, late...)
			require.Len(t, slices.Compact(f.lent()), workers, "the last of them gets the last worker id")
			_, err := f.centers[0].Acquire(t.Context(), request(5*time.Minute))
			require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))

			ids := map[int64]bool{}
			issue := func() {
				for _, g := range f.ids {
					id, err := g.NextID()
					require.NoError(t, err)
					ids[id] = true
				}
			}
			issue()
			f.server.Pause()
			time.Sleep(13 * time.Second) // every renewal fails
			f.server.Resume()
			for since := time.Now(); !f.renewed(since); {
				time.Sleep(100 * time.Millisecond)
			}
			issue()
			require.Len(t, ids, 2*workers)
			require.Zero(t, f.losses())
			require.Len(t, slices.Compact(f.lent()), workers)

			require.NoError(t, f.stop(t.Context()))
			slots, err := f.centers[0].Extras().Lister.Slots(t.Context(), "load")
			require.NoError(t, err)
			require.Len(t, slots, workers)
			for _, s := range slots {
				require.Empty(t, s.Holder)
				require.Less(t, s.Expires, s.Now)
			}
		})
	}
}
