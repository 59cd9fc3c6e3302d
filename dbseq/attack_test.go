//go:build prove

package dbseq_test

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
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
			requireDisjoint(t, g, s.g)
		}
		require.Equal(t, g.Floor, number(t, s.db, "SELECT floor_ms FROM snowlease_slot WHERE slot = ?", g.Worker))
		require.Equal(t, g.Ceiling, number(t, s.db, "SELECT hwm_ms FROM snowlease_slot WHERE slot = ?", g.Worker))
		return err
	}
	for name, verb := range map[string]struct {
		prepare  func(t *testing.T, s *scene)
		run      func(t *testing.T, s *scene) error
		accepted func(err error) bool // besides nil
	}{
		"acquire on an empty database": {
			prepare:  func(_ *testing.T, s *scene) { s.g.Request = request("orders", 2) },
			run:      ask,
			accepted: quarantined,
		},
		"acquire after one that was killed": {
			prepare: func(t *testing.T, s *scene) {
				hold(t, s)
				rawExec(t, s.db, "UPDATE snowlease_slot SET expires_ms = 1, hwm_ms = 1, ver = ver + 1")
				s.g.Owner = lease.NewOwner()
			},
			run: ask,
		},
		"acquire again": {prepare: hold, run: ask},
		"renew":         {prepare: hold, run: renew},
		"release": {
			prepare:  hold,
			run:      func(t *testing.T, s *scene) error { return s.c.Release(t.Context(), s.g, s.g.Now) },
			accepted: func(err error) bool { return errors.Is(err, lease.ErrLost) },
		},
		"release what is lost": {
			prepare: holdLost,
			run: func(t *testing.T, s *scene) error {
				if err := s.c.Release(t.Context(), s.g, s.g.Now); !errors.Is(err, lease.ErrLost) {
					return err
				}
				return nil
			},
		},
		"renew what is lent anew": {
			prepare: func(t *testing.T, s *scene) {
				hold(t, s)
				rawExec(t, s.db, "UPDATE snowlease_meta SET quarantine_ms = ?", s.g.Now)
			},
			run: func(t *testing.T, s *scene) error {
				err := renew(t, s)
				if err == nil {
					require.Equal(t, s.g.Ceiling, number(t, s.db, "SELECT floor_ms FROM snowlease_slot WHERE slot = ?", s.g.Worker), "once, above its mark")
				}
				return err
			},
		},
		"acquire that starts a quarantine": {
			prepare: holdLost,
			run: func(t *testing.T, s *scene) error {
				g, err := s.c.Acquire(t.Context(), s.g.Request)
				// If the statement fails that raises the quarantine to the marks of the slots that
				// were created after it, no slot is free for as long as that took.
				if full := (*lease.NoFreeWorkerError)(nil); errors.As(err, &full) && full.Soonest.Sub(full.Now) < time.Second {
					time.Sleep(full.Soonest.Sub(full.Now))
					g, err = s.c.Acquire(t.Context(), s.g.Request)
				}
				if err == nil { // the reply to the one that started it was lost
					requireDisjoint(t, g, s.g)
					return nil
				}
				if quarantined(err) {
					require.EqualValues(t, 2, number(t, s.db, "SELECT COUNT(*) FROM snowlease_slot"), "the records are whole")
					return nil
				}
				return err
			},
		},
		"slots": {
			prepare: hold,
			run: func(t *testing.T, s *scene) error {
				slots, err := s.c.Extras().Lister.Slots(t.Context(), "orders")
				if err == nil {
					require.Len(t, slots, 2)
				}
				return err
			},
		},
		"Init": {
			prepare:  func(_ *testing.T, s *scene) { s.g.Request = request("orders", 2) },
			run:      func(t *testing.T, s *scene) error { return s.c.Extras().Init(t.Context(), s.g.Request) },
			accepted: func(err error) bool { return errors.Is(err, lease.ErrExists) },
		},
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
					s.c, n = counted(t, e, s.db, dsn)
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

// TestClaimChecksAgain changes records between the look and the claim. The claim must
// notice, on the server that runs it.
func TestClaimChecksAgain(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c, n := counted(t, e, db, dsn)
		other := center(t, db)
		first(t, c, request("warm-up", 1))
		for what, change := range map[string]func(ns string){
			"quarantine": func(ns string) {
				rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = 9999999999999, reason = 'test' WHERE ns = ?", ns)
			},
			"another server": func(ns string) { rawExec(t, db, "UPDATE snowlease_meta SET incarnation = 'x' WHERE ns = ?", ns) },
			"a wipe": func(ns string) {
				rawExec(t, db, "DELETE FROM snowlease_slot WHERE ns = ?", ns)
				rawExec(t, db, "DELETE FROM snowlease_meta WHERE ns = ?", ns)
			},
			"a wipe, and all made anew by another": func(ns string) {
				rawExec(t, db, "DELETE FROM snowlease_slot WHERE ns = ?", ns)
				_, err := other.Acquire(t.Context(), request(ns, 4))
				require.True(t, quarantined(err))
			},
		} {
			ns := strings.NewReplacer(" ", "-", ",", "").Replace(what)
			require.NoError(t, c.Extras().Init(t.Context(), request(ns, 4)))
			n.before = once("UPDATE snowlease_slot", func() { change(ns) })
			_, err := c.Acquire(t.Context(), request(ns, 4))
			n.before = nil
			require.True(t, quarantined(err), "%s: %v", what, err)
			require.Zero(t, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE ns = ? AND owner <> ''", ns), what)
		}

		// The faster borrower gets the slot.
		require.NoError(t, c.Extras().Init(t.Context(), request("race", 1)))
		n.before = once("UPDATE snowlease_slot", func() { acquire(t, other, request("race", 1)) })
		_, err := c.Acquire(t.Context(), request("race", 1))
		n.before = nil
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	})
}

// TestRenewChecksAgain puts a failover between the look and the renewal.
func TestRenewChecksAgain(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c, n := counted(t, e, db, dsn)
		g := first(t, c, request("orders", 4))
		change := func() {
			n.before = once("UPDATE snowlease_slot", func() {
				rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = 0, incarnation = 'x' WHERE ns = 'orders'")
			})
		}
		change()
		_, err := c.Renew(t.Context(), g)
		require.True(t, quarantined(err), err)
		require.ErrorContains(t, err, `changed from "x"`)
		require.Equal(t, g.Ceiling, number(t, db, "SELECT hwm_ms FROM snowlease_slot WHERE slot = ?", g.Worker), "not extended")
		rawExec(t, db, "UPDATE snowlease_meta SET quarantine_ms = 0")
		change()
		require.NoError(t, c.Release(t.Context(), g, g.Now))
		require.ErrorContains(t, requireQuarantine(t, c, request("orders", 4)), `changed from "x"`)
	})
}

// TestTicketsStartAnew: after TRUNCATE, or a restart of a server that reuses keys,
// tickets are low again. Nothing depends on them.
func TestTicketsStartAnew(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		c := center(t, db)
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 12)))
		for range 3 {
			for range 4 {
				acquire(t, c, request("orders", 12))
			}
			rawExec(t, db, "DELETE FROM snowlease_ticket")
			rawExec(t, db, map[string]string{
				"sqlite":   "DELETE FROM sqlite_sequence",
				"mysql":    "ALTER TABLE snowlease_ticket AUTO_INCREMENT = 1",
				"postgres": "ALTER TABLE snowlease_ticket ALTER id RESTART",
			}[e.speaks])
		}
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

// TestAutoIncrementStep: with auto_increment_increment, some residues never occur, or
// all but one, but all worker ids are lent.
func TestAutoIncrementStep(t *testing.T) {
	t.Parallel()
	e := engines[1]
	for _, step := range []string{"2", "32"} {
		db := e.db(t, e.dsn(t)+"&auto_increment_increment="+step)
		require.NoError(t, center(t, db).Extras().Init(t.Context(), request("orders", 32)))
		grants, errs := stampede(t, 33, func(int) lease.Center { return center(t, db) }, request("orders", 32))
		requireDistinct(t, grants, errs, 32)
	}
}

// TestOddHolders: odd holder names are stored, or at least do not keep a process from
// starting.
func TestOddHolders(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c := center(t, e.db(t, dsn))
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 32)))
		for holder, want := range map[string]string{
			"订单@主机 🦀": "订单@主机 🦀", "a\x00b": "a?b", "\xff\xfe": "??", `'; DROP TABLE "x" \`: `'; DROP TABLE "x" \`,
			strings.Repeat("ü", 127): strings.Repeat("ü", 127),
		} {
			req := request("orders", 32)
			req.Holder = holder
			g := acquire(t, c, req)
			require.Equal(t, holder, g.Holder)
			slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
			require.NoError(t, err)
			require.Equal(t, want, slots[g.Worker].Holder, fmt.Sprintf("%q", holder))
		}
	})
}
