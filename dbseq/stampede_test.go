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

// TestManyProcessesOnAnEmptyDatabase: they create the tables concurrently, and all grants
// lie above any that may have been lost.
func TestManyProcessesOnAnEmptyDatabase(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		const processes, pool = 40, 32
		db := e.db(t, dsn)
		req := soon(request("orders", pool))
		lost := time.Now().Add(req.MaxTTL).UnixMilli() // the last range that may have been lent before
		grants, errs := stampede(t, processes, func(int) lease.Center { return center(t, db) }, req)
		requireDistinct(t, grants, errs, pool)
		for i, g := range grants {
			// A process that saw no slots yet may raise the quarantine above the first grants.
			require.True(t, errs[i] != nil || g.Floor >= lost, "%d and %d", g.Floor, lost)
		}
		require.GreaterOrEqual(t, number(t, db, "SELECT quarantine_ms FROM snowlease_meta WHERE ns = 'orders'"), lost)
		tickets := number(t, db, "SELECT COUNT(*) FROM snowlease_ticket") // who is kept waiting leaves the own one
		require.True(t, tickets >= pool && tickets <= processes, "%d", tickets)
	})
}

// TestStampede: 200 borrowers in 20 processes share tables in use.
func TestStampede(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		var centers [20]lease.Center
		for i := range centers {
			centers[i] = center(t, db)
		}
		require.NoError(t, centers[0].Extras().Init(t.Context(), request("orders", 32)))
		grants, errs := stampede(t, 200, func(i int) lease.Center { return centers[i%len(centers)] }, request("orders", 32))
		requireDistinct(t, grants, errs, 32)
	})
}

func stampede(t *testing.T, borrowers int, of func(i int) lease.Center, req lease.Request) ([]lease.Grant, []error) {
	t.Helper()
	grants, errs := make([]lease.Grant, borrowers), make([]error, borrowers)
	centers := make([]lease.Center, borrowers)
	for i := range centers {
		centers[i] = of(i)
	}
	var wg sync.WaitGroup
	for i, c := range centers {
		wg.Go(func() {
			req := req
			req.Owner = lease.NewOwner()
			for grants[i], errs[i] = c.Acquire(t.Context(), req); quarantined(errs[i]) || late(errs[i]); {
				grants[i], errs[i] = c.Acquire(t.Context(), req)
			}
		})
	}
	wg.Wait()
	return grants, errs
}

// late reports a timeout of the connection, after which a keeper asks again. On a loaded
// machine pgx can return one although the context has no deadline.
func late(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func requireDistinct(t *testing.T, grants []lease.Grant, errs []error, pool int) {
	t.Helper()
	workers := map[int64]bool{}
	for i, err := range errs {
		if full := (*lease.NoFreeWorkerError)(nil); !errors.As(err, &full) {
			require.NoError(t, err)
			require.False(t, workers[grants[i].Worker], "worker %d is lent twice", grants[i].Worker)
			workers[grants[i].Worker] = true
		}
	}
	require.Len(t, workers, pool)
}
