package dbseq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker/lease"
)

// TestClaimChecksAllAgain: what comes between the list of free slots and the claim of
// one, on a clock that stands.
func TestClaimChecksAllAgain(t *testing.T) {
	t.Parallel()
	fresh := func(t *testing.T) (clocked, *dbseq.Center, *counter) {
		dsn := engines[0].dsn(t)
		s := clockedOn(t, &store{db: engines[0].db(t, dsn), compared: true})
		c, n := counted(t, engines[0], s.db, dsn)
		s.host(c)
		require.NoError(t, s.center(t).Init(t.Context(), request("orders", 1)))
		return s, c, n
	}
	for name, test := range map[string]struct {
		between func(t *testing.T, s clocked)
		want    any
	}{
		"members of another layout": {func(t *testing.T, s clocked) {
			s.Wipe(t)
			other := request("orders", 1)
			other.Layout = "another"
			require.NoError(t, s.center(t).Init(t.Context(), other))
		}, new(*lease.MismatchError)},
		"a clock that steps ahead": {func(_ *testing.T, s clocked) { s.Sleep(time.Hour) }, new(*lease.ClockError)},
		"a clock that steps back":  {func(_ *testing.T, s clocked) { s.Sleep(-time.Hour) }, new(*lease.ClockError)},
		"a loan": {func(t *testing.T, s clocked) {
			acquire(t, s.center(t), request("orders", 1))
		}, new(*lease.NoFreeWorkerError)},
		"a loan that was given back, used ahead": {func(t *testing.T, s clocked) {
			g := acquire(t, s.center(t), request("orders", 1))
			require.NoError(t, s.center(t).Release(t.Context(), g, g.Ceiling))
		}, new(*lease.NoFreeWorkerError)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, c, n := fresh(t)
			n.before = once("UPDATE snowlease_slot", func() { test.between(t, s) })
			req := request("orders", 1)
			req.Local = time.Now().UnixMilli()
			g, err := c.Acquire(t.Context(), req)
			require.ErrorAs(t, err, test.want)
			require.Zero(t, g)
		})
	}
	t.Run("a loan that was given back", func(t *testing.T) {
		t.Parallel()
		s, c, n := fresh(t)
		var between lease.Grant
		n.before = once("UPDATE snowlease_slot", func() {
			between = acquire(t, s.center(t), request("orders", 1))
			require.NoError(t, s.center(t).Release(t.Context(), between, between.Floor))
		})
		g := acquire(t, c, request("orders", 1))
		require.Greater(t, g.Token, between.Token, "it is the grant on record")
		_, err := c.Renew(t.Context(), g)
		require.NoError(t, err)
	})
}

// TestRetakeChecksAllAgain: what comes between the look and the re-take.
func TestRetakeChecksAllAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		between func(t *testing.T, s clocked, g lease.Grant)
		lost    bool
	}{
		"the ceiling passes": {func(_ *testing.T, s clocked, _ lease.Grant) { s.Sleep(9*time.Minute + 59*time.Second) }, true},
		"the quarantine ends": {func(t *testing.T, s clocked, _ lease.Grant) {
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = 1 WHERE ns = 'orders'")
		}, true},
		"another re-takes it": {func(t *testing.T, s clocked, g lease.Grant) {
			g.Owner = lease.NewOwner()
			_, err := s.center(t).Renew(t.Context(), g)
			require.NoError(t, err)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := engines[0].dsn(t)
			s := clockedOn(t, &store{db: engines[0].db(t, dsn), compared: true})
			c, n := counted(t, engines[0], s.db, dsn)
			s.host(c)
			g := acquire(t, c, request("orders", 1))
			rawExec(t, s.db, "DELETE FROM snowlease_slot")
			n.before = func(_ int64, query string) error {
				if strings.Contains(query, "since_ms = ?4") {
					n.before = nil
					test.between(t, s, g)
				}
				return nil
			}
			renewed, err := c.Renew(t.Context(), g)
			require.Nil(t, n.before, "it came to a re-take")
			require.Zero(t, renewed)
			if test.lost {
				require.ErrorIs(t, err, lease.ErrLost)
			} else {
				require.True(t, quarantined(err), err)
			}
		})
	}
}

// TestMendChecksAllAgain: what comes between the look of Mend and its changes.
func TestMendChecksAllAgain(t *testing.T) {
	t.Parallel()
	for name, between := range map[string]func(t *testing.T, s clocked){
		"a clock that steps back": func(_ *testing.T, s clocked) { s.Sleep(-time.Hour) },
		"a loss": func(t *testing.T, s clocked) {
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = quarantine_ms + 1 WHERE ns = 'orders'")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := engines[0].dsn(t)
			s := clockedOn(t, &store{db: engines[0].db(t, dsn), compared: true})
			c, n := counted(t, engines[0], s.db, dsn)
			s.host(c)
			acquire(t, c, request("orders", 1))
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = (SELECT ms FROM host) + 86400000 WHERE ns = 'orders'")
			onRecord := func() []int64 {
				return []int64{
					number(t, s.db, "SELECT quarantine_ms FROM snowlease_meta WHERE ns = 'orders'"),
					number(t, s.db, "SELECT expires_ms FROM snowlease_slot"), number(t, s.db, "SELECT hwm_ms FROM snowlease_slot"),
				}
			}
			var then []int64
			n.before = once("UPDATE snowlease_meta", func() {
				between(t, s)
				then = onRecord()
			})
			require.NoError(t, c.Mend(t.Context(), "orders", number(t, s.db, "SELECT ms FROM host")))
			require.NotNil(t, then)
			require.Equal(t, then, onRecord())
		})
	}
}
