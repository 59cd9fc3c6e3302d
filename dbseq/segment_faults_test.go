//go:build prove

package dbseq_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/numbers/segment"
)

// TestSegmentsOverAKilledServer: issuers continue with prefetched numbers, and again when
// the server is back. No number repeats.
func TestSegmentsOverAKilledServer(t *testing.T) {
	t.Parallel()
	srv := testserver.NewMariaDB(t)
	db := engines[1].db(t, srv.DSN())
	i := issuer(t, segments(t, db), segment.Config{Step: 500, MinStep: 500, MaxStep: 500})
	strict := issuer(t, segments(t, db), segment.Config{Order: segment.OrderStrict})
	dst := make([]int64, 1000)
	var all []int64
	for range 2 {
		require.NoError(t, i.NextIDs(t.Context(), dst))
		all = append(all, dst...)
		n, err := strict.NextID()
		require.NoError(t, err)
		all = append(all, n)
		require.Eventually(t, func() bool { return i.Status().Remaining >= 500 }, 10*time.Second, time.Millisecond)

		srv.Kill()
		for range 500 {
			n, err := i.NextID()
			require.NoError(t, err)
			all = append(all, n)
		}
		_, err = strict.NextID()
		require.ErrorIs(t, err, segment.ErrUnavailable)
		srv.Start()
		n, err = strict.NextIDWait(t.Context())
		require.NoError(t, err)
		all = append(all, n)
	}
	require.NoError(t, i.NextIDs(t.Context(), dst))
	all = append(all, dst...)
	slices.Sort(all)
	require.Len(t, slices.Compact(slices.Clone(all)), len(all))
}

// TestSegmentsInOddSessions runs the contract under unusual session settings.
func TestSegmentsInOddSessions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		engine engine
		dsn    string
	}{
		"mysql found rows, ansi, prepared": {engines[1], "&clientFoundRows=true&interpolateParams=false&sql_mode='ANSI,TRADITIONAL'"},
		"mysql unsigned subtraction":       {engines[1], "&sql_mode='NO_UNSIGNED_SUBTRACTION'"},
		"postgres serializable, simple":    {engines[2], " default_transaction_isolation=serializable default_query_exec_mode=simple_protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := segments(t, c.engine.db(t, c.engine.dsn(t)+c.dsn), dbseq.WithTablePrefix("x_"))
			require.NoError(t, segmentcheck.Run(t.Context(), s, "", nil))
		})
	}
	t.Run("mysql simultaneous assignment", func(t *testing.T) {
		t.Parallel()
		dsn := engines[1].dsn(t)
		if engines[1].db(t, dsn).Exec("SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'").Error != nil {
			t.Log("left out: only MariaDB has this mode")
			return
		}
		require.NoError(t, segmentcheck.Run(t.Context(), segments(t, engines[1].db(t, dsn+"&sql_mode='SIMULTANEOUS_ASSIGNMENT'")), "", nil))
	})
}

// TestSegmentsWipedWhileRunning: two processes hold numbers when the table is wiped. Neither
// creates the name again, because the other one's numbers would repeat. Both go on once it
// exists above all numbers.
func TestSegmentsWipedWhileRunning(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		for _, wipe := range []string{"DELETE FROM snowlease_segment", "DROP TABLE snowlease_segment"} {
			db := e.db(t, dsn)
			s := segments(t, db)
			cfg := segment.Config{Step: 10, MaxStep: 10, Wait: 10 * time.Second}
			strict := cfg
			strict.Order = segment.OrderStrict
			all := []*segment.Issuer{issuer(t, s, cfg), issuer(t, s, cfg), issuer(t, s, strict)}
			seen := map[int64]bool{}
			take := func(i *segment.Issuer) error {
				n, err := i.NextID()
				require.False(t, seen[n] && err == nil, "%d was issued before", n)
				seen[n] = true
				return err
			}
			for _, i := range all {
				require.NoError(t, take(i))
			}
			last := int64(0)
			for _, i := range all[:2] {
				require.Eventually(t, func() bool { return i.Status().Reservations == 2 }, 10*time.Second, time.Millisecond, "it holds two segments")
				last = max(last, i.Status().Last)
			}
			rawExec(t, db, wipe)
			for n, i := range all {
				var err error
				for range 100 {
					if err = take(i); err != nil {
						break
					}
				}
				require.ErrorIs(t, err, segment.ErrUnknown, "process %d after %s", n, wipe)
				require.ErrorContains(t, err, "above all its numbers")
			}
			require.NoError(t, s.Create(t.Context(), "orders", max(last, all[2].Status().Last)+1))
			for _, i := range all {
				require.Eventually(t, func() bool { return take(i) == nil }, 10*time.Second, time.Millisecond)
				require.NoError(t, i.Close())
			}
			rawExec(t, db, "DELETE FROM snowlease_segment")
		}
	})
}
