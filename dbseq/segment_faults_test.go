//go:build prove

package dbseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/numbers"
)

// TestSegmentsWipedWhileRunning: two processes hold numbers when the table is wiped. Neither
// creates the name again, because the other one's numbers would repeat. Both go on once it
// exists above all numbers.
func TestSegmentsWipedWhileRunning(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		for _, wipe := range []string{"DELETE FROM snowlease_segment", "DROP TABLE snowlease_segment"} {
			db := e.db(t, dsn)
			s := segments(t, db)
			cfg := numbers.SegmentConfig{Step: 10, MaxStep: 10}
			strict := cfg
			strict.Strict = true
			all := []*numbers.Segment{issuer(t, s, cfg), issuer(t, s, cfg), issuer(t, s, strict)}
			seen := map[int64]bool{}
			take := func(i *numbers.Segment) error {
				n, err := i.Next(t.Context())
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
				require.ErrorIs(t, err, numbers.ErrUnknown, "process %d after %s", n, wipe)
				require.ErrorContains(t, err, "above all its numbers")
			}
			require.NoError(t, s.Create(t.Context(), "shop/orders", max(last, all[2].Status().Last)+1))
			for _, i := range all {
				require.Eventually(t, func() bool { return take(i) == nil }, 10*time.Second, time.Millisecond)
				require.NoError(t, i.Close())
			}
			rawExec(t, db, "DELETE FROM snowlease_segment")
		}
	})
}
