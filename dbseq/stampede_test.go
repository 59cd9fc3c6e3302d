//go:build prove

package dbseq_test

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// TestManyProcessesOnAnEmptyDatabase: they create the tables concurrently, each worker id is lent
// once, and all grants lie above any that may have been lost.
func TestManyProcessesOnAnEmptyDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		const processes, pool = 40, 32
		db := e.db(t, dsn)
		req := soon(request("orders", pool))
		lost := time.Now().Add(req.MaxTTL).UnixMilli() // the last range that may have been lent before
		grants, errs := make([]lease.Grant, processes), make([]error, processes)
		var wg sync.WaitGroup
		for i := range processes {
			c := center(t, db)
			wg.Go(func() {
				req := req
				req.Owner = lease.NewOwner()
				for {
					grants[i], errs[i] = c.Acquire(t.Context(), req)
					// A keeper asks again after a timeout of the connection too. On a loaded machine pgx
					// can return one although the context has no deadline.
					timeout := net.Error(nil)
					if late := errors.As(errs[i], &timeout) && timeout.Timeout(); !late && !quarantined(errs[i]) {
						return
					}
				}
			})
		}
		wg.Wait()
		workers := map[int64]bool{}
		for i, g := range grants {
			if !errors.As(errs[i], new(*lease.NoFreeWorkerError)) {
				require.NoError(t, errs[i])
				require.False(t, workers[g.Worker], "worker %d is lent twice", g.Worker)
				workers[g.Worker] = true
				// A process that saw no slots yet may raise the quarantine above the first grants.
				require.GreaterOrEqual(t, g.Floor, lost)
			}
		}
		require.Len(t, workers, pool)
		require.GreaterOrEqual(t, number(t, db, "SELECT quarantine_ms FROM snowlease_meta WHERE ns = 'orders'"), lost)
		tickets := number(t, db, "SELECT COUNT(*) FROM snowlease_ticket") // who is kept waiting leaves the own one
		require.True(t, tickets >= pool && tickets <= processes, "%d", tickets)
	})
}
