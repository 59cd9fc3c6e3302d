package dbseq_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

// A clocked store is a SQLite database whose clock only Sleep moves, and which can pose
// as another server.
type clocked struct{ *store }

func newClocked(t testing.TB) clocked {
	t.Helper()
	return clockedOn(t, newStore(t, engines[0]))
}

func clockedOn(t testing.TB, s *store) clocked {
	t.Helper()
	rawExec(t, s.db, "CREATE TABLE host (ms BIGINT NOT NULL, number INTEGER NOT NULL)")
	rawExec(t, s.db, "INSERT INTO host VALUES (?, 1)", time.Now().UnixMilli())
	return clocked{s}
}

func (s clocked) Center(t testing.TB) lease.Center { return s.center(t) }

func (s clocked) center(t testing.TB) *dbseq.Center {
	c := center(t, s.db)
	s.host(c)
	return c
}

// host makes a center read clock and incarnation from the store.
func (s clocked) host(c *dbseq.Center) {
	c.ReadFrom("(SELECT ms FROM host)", "(SELECT CONCAT('host ', number) FROM host)")
}

func (s clocked) Reincarnate(t testing.TB) { rawExec(t, s.db, "UPDATE host SET number = number + 1") }

func (s clocked) Flip(t testing.TB) { rawExec(t, s.db, "UPDATE host SET number = number - 1") }

func (s clocked) Traits() leasetest.Traits {
	traits := s.store.Traits()
	traits.StandsStill = true
	return traits
}

func (s clocked) Sleep(d time.Duration) {
	if err := s.db.Exec("UPDATE host SET ms = ms + ?", d.Milliseconds()).Error; err != nil {
		panic(err)
	}
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
