//go:build prove

package dbseq_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// pausedBefore runs call up to where it inserts into a table. resume returns its error.
func pausedBefore(t *testing.T, n *counter, table string, call func() error) (resume func() error) {
	t.Helper()
	paused, resumed, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	pause := sync.OnceFunc(func() {
		close(paused)
		<-resumed
	})
	n.before = func(_ int64, query string) error {
		if strings.HasPrefix(query, "INSERT") && strings.Contains(query, "INTO "+table) {
			pause()
		}
		return nil
	}
	go func() { done <- call() }()
	select {
	case <-paused:
	case err := <-done:
		t.Fatalf("ended before: %v", err)
	}
	return func() error {
		close(resumed)
		return <-done
	}
}

// TestInitBesideAPartialLoss: Init finds nothing and pauses. Others open the namespace and lend,
// and lose a part of it. Init does not complete what is left.
func TestInitBesideAPartialLoss(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		// On SQLite the transaction, too, begins without a lock.
		s, slow, n := countedByAClock(t, e, strings.Replace(dsn, "_txlock=immediate", "_txlock=deferred", 1))
		other := center(t, e.db(t, dsn))
		s.on(other)
		resume := pausedBefore(t, n, "snowlease_meta", func() error { return slow.Extras().Init(t.Context(), request("orders", 2)) })

		held := first(t, other, request("orders", 2))
		rawExec(t, s.db, "DELETE FROM snowlease_meta")
		rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE slot = ?", held.Worker)
		require.ErrorIs(t, resume(), lease.ErrExists)

		req := request("orders", 2)
		req.First, req.Last = held.Worker, held.Worker
		_, err := other.Acquire(t.Context(), req)
		q := (*lease.QuarantineError)(nil)
		require.ErrorAs(t, err, &q)
		s.Sleep(q.Wait())
		requireDisjoint(t, held, acquire(t, other, req))
	})
}

// TestSlotsCreatedAfterAFailure: a process dies between the quarantine and the slots, and
// the clock steps back. To MySQL, the next one changes nothing on record.
func TestSlotsCreatedAfterAFailure(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		s, c, n := countedByAClock(t, e, dsn)
		first(t, c, request("orders", 1))
		rawExec(t, s.db, "DELETE FROM snowlease_slot")
		n.before = failing("INTO snowlease_slot", errors.New("the process died"))
		_, err := c.Acquire(t.Context(), request("orders", 1))
		require.ErrorContains(t, err, "the process died")

		n.before = nil
		s.Sleep(-1500 * time.Millisecond)
		_, err = c.Acquire(t.Context(), request("orders", 1))
		require.ErrorAs(t, err, new(*lease.QuarantineError))
		require.EqualValues(t, 1, number(t, s.db, "SELECT COUNT(*) FROM snowlease_slot"))
	})
}
