package dbseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

// A clocked store is one whose clock only Sleep moves, and which can pose as another server.
type clocked struct{ *store }

func newClocked(t testing.TB, db *gorm.DB) clocked {
	t.Helper()
	s := newStore(db)
	s.host(t, time.Now().UnixMilli())
	return clocked{s}
}

// byAClock makes clocked stores on SQLite.
func byAClock(t testing.TB) leasetest.Store {
	return newClocked(t, engines[0].db(t, engines[0].dsn(t)))
}

func (s clocked) Center(t testing.TB) lease.Center { return s.center(t) }

func (s clocked) center(t testing.TB) *dbseq.Center { return s.on(center(t, s.db)) }

// on makes a center read clock and incarnation from the store.
func (s clocked) on(c *dbseq.Center) *dbseq.Center {
	c.ReadFrom("(SELECT ms FROM snowlease_host)", "(SELECT CONCAT('host ', number) FROM snowlease_host)")
	return c
}

// countedByAClock is counted for a center of a clocked store.
func countedByAClock(t testing.TB, e engine, dsn string) (clocked, *dbseq.Center, *counter) {
	t.Helper()
	s := newClocked(t, e.db(t, dsn))
	c, n := counted(t, e, dsn)
	return s, s.on(c), n
}

func (s clocked) Reincarnate(t testing.TB) {
	s.exec(t, "UPDATE snowlease_host SET number = number + 1")
}

func (s clocked) Flip(t testing.TB) { s.exec(t, "UPDATE snowlease_host SET number = number - 1") }

func (s clocked) Traits() leasetest.Traits {
	traits := s.store.Traits()
	traits.StandsStill = true
	return traits
}

// TestClockOfAStatement: the clock is one value within a statement, however often that reads
// it and however long that takes.
func TestClockOfAStatement(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c := center(t, e.db(t, dsn))
		n, err := c.ClockValues(t.Context(), "")
		require.NoError(t, err)
		require.EqualValues(t, 1, n)

		moving := map[dbseq.Dialect]string{
			dbseq.MySQL:    "SYSDATE(6)",
			dbseq.Postgres: "(SELECT clock_timestamp())", // one value in each place
		}[e.dialect]
		if moving != "" {
			n, err = c.ClockValues(t.Context(), moving)
			require.NoError(t, err)
			require.Greater(t, n, int64(1), "a clock that moves is seen")
		}
	})
}
