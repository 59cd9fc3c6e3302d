//go:build prove

package dbseq_test

import (
	"database/sql/driver"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// TestLostReplies makes each statement of each verb fail once, before it runs or after
// (a lost reply). The repeated verb must end as if nothing had happened.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	e := engines[0]
	type scene struct {
		db *gorm.DB
		c  *dbseq.Center
		g  lease.Grant
	}
	empty := func(_ *testing.T, s *scene) { s.g.Request = request("orders", 2) }
	hold := func(t *testing.T, s *scene) { s.g = first(t, s.c, soon(request("orders", 2))) }
	holdLost := func(t *testing.T, s *scene) {
		hold(t, s)
		rawExec(t, s.db, "DELETE FROM snowlease_slot")
		rawExec(t, s.db, "DELETE FROM snowlease_meta")
	}
	ask := func(t *testing.T, s *scene) error {
		g, err := s.c.Acquire(t.Context(), s.g.Request)
		if err != nil {
			require.Zero(t, g)
			return err
		}
		require.Less(t, g.Floor, g.Now, "the first id can be issued at once")
		require.EqualValues(t, 1, number(t, s.db, "SELECT COUNT(*) FROM snowlease_slot WHERE expires_ms > 1"), "one slot in all")
		_, err = s.c.Renew(t.Context(), g)
		return err
	}
	renew := func(t *testing.T, s *scene) error {
		g, err := s.c.Renew(t.Context(), s.g)
		if err != nil {
			require.Zero(t, g)
			return err
		}
		if g.Token != s.g.Token {
			require.Equal(t, s.g.Ceiling, g.Floor, "lent anew once, above its mark")
		}
		require.Equal(t, g.Floor, number(t, s.db, "SELECT floor_ms FROM snowlease_slot WHERE slot = ?", g.Worker))
		require.Equal(t, g.Ceiling, number(t, s.db, "SELECT hwm_ms FROM snowlease_slot WHERE slot = ?", g.Worker))
		return err
	}
	release := func(t *testing.T, s *scene) error { return s.c.Release(t.Context(), s.g, s.g.Now) }
	is := func(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }
	for name, verb := range map[string]struct {
		prepare  func(t *testing.T, s *scene)
		run      func(t *testing.T, s *scene) error
		accepted func(err error) bool // besides nil
	}{
		"acquire on an empty database": {empty, ask, quarantined},
		"acquire after one that was killed": {func(t *testing.T, s *scene) {
			hold(t, s)
			rawExec(t, s.db, "UPDATE snowlease_slot SET expires_ms = 1, hwm_ms = 1, ver = ver + 1")
			s.g.Owner = lease.NewOwner()
		}, ask, nil},
		"acquire again":        {hold, ask, nil},
		"renew":                {hold, renew, nil},
		"release":              {hold, release, is(lease.ErrLost)},
		"release what is lost": {holdLost, release, is(lease.ErrLost)},
		"renew what is lent anew": {func(t *testing.T, s *scene) {
			hold(t, s)
			rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = ?", s.g.Now)
		}, renew, nil},
		"acquire that starts a quarantine": {holdLost, func(t *testing.T, s *scene) error {
			g, err := s.c.Acquire(t.Context(), s.g.Request)
			// If the statement fails that raises the quarantine to the marks of the slots that
			// were created after it, no slot is free for as long as that took.
			if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) && full.Soonest.Sub(full.Now) < time.Second {
				time.Sleep(full.Soonest.Sub(full.Now))
				g, err = s.c.Acquire(t.Context(), s.g.Request)
			}
			if err == nil { // the reply to the one that started it was lost
				requireDisjoint(t, g, s.g)
			} else if quarantined(err) {
				require.EqualValues(t, 2, number(t, s.db, "SELECT COUNT(*) FROM snowlease_slot"), "the records are whole")
			}
			return err
		}, quarantined},
		"Init": {empty, func(t *testing.T, s *scene) error { return s.c.Extras().Init(t.Context(), s.g.Request) }, is(lease.ErrExists)},
	} {
		for fault, f := range map[string]struct {
			err  error
			lost bool
		}{
			"fails":             {errReply, false},
			"its reply is lost": {errReply, true},
			"is not sent":       {driver.ErrBadConn, false}, // database/sql retries
			"loses":             {busy{}, false},
		} {
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				for at := int64(1); ; at++ {
					ran := false
					dsn := e.dsn(t)
					s := &scene{db: e.db(t, dsn)}
					var n *counter
					s.c, n = counted(t, e, dsn)
					verb.prepare(t, s)
					start := n.n.Load()
					fail := func(i int64, _ string) error {
						if i-start == at {
							ran = true
							return f.err
						}
						return nil
					}
					if f.lost {
						n.after = fail
					} else {
						n.before = fail
					}
					err := verb.run(t, s)
					n.before, n.after = nil, nil
					if errors.Is(err, f.err) {
						err = verb.run(t, s)
					}
					if err != nil {
						require.True(t, verb.accepted != nil && verb.accepted(err), "statement %d: %v", at, err)
					}
					if !ran {
						require.Greater(t, at, int64(1))
						return
					}
				}
			})
		}
	}
}

// TestFailoverBeforeAChange puts a failover between the look of each verb and its change, which
// notices it on the server that runs it, and changes nothing there.
func TestFailoverBeforeAChange(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c, n := counted(t, e, dsn)
		g := first(t, c, request("orders", 4))
		change := func() {
			rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = 0")
			n.before = once("UPDATE snowlease_slot", func() { rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = 0, incarnation = 'x'") })
		}
		change()
		require.Contains(t, requireQuarantine(t, c, request("orders", 4)).Reason, `changed from "x"`)
		require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE since_ms > 0"))
		change()
		_, err := c.Renew(t.Context(), g)
		require.True(t, quarantined(err), err)
		require.Equal(t, g.Ceiling, number(t, db, "SELECT hwm_ms FROM snowlease_slot WHERE slot = ?", g.Worker), "not extended")
		change()
		require.NoError(t, c.Release(t.Context(), g, g.Now))
		require.Contains(t, requireQuarantine(t, c, request("orders", 4)).Reason, `changed from "x"`)
	})
}

// TestRenewTwiceInAMillisecond: MySQL does not count a row that keeps its values, and a
// live lease must not look lost.
func TestRenewTwiceInAMillisecond(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c := center(t, e.db(t, dsn))
		g := first(t, c, request("orders", 4))
		g.TTL = 5 * time.Second // neither mark nor expiry rises
		for range 200 {
			renewed, err := c.Renew(t.Context(), g)
			require.NoError(t, err)
			require.Equal(t, g.Ceiling, renewed.Ceiling)
		}
	})
}
