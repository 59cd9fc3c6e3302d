//go:build prove

package dbseq_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// TestLossToGrant: processes that start after a loss, or on an empty database, get ids
// after little more than the skew, and holders continue without a pause. No two of them
// ever share a millisecond of a worker id, neither in their grants nor in their ids.
func TestLossToGrant(t *testing.T) {
	t.Parallel()
	losing := func(losses ...[]string) func(*testing.T, *gorm.DB) {
		return func(t *testing.T, db *gorm.DB) {
			for i, statements := range losses {
				if i > 0 {
					time.Sleep(300 * time.Millisecond) // twice within a second
				}
				for _, statement := range statements { // members lock and create what is dropped
					require.Eventually(t, func() bool { return db.Exec(statement).Error == nil }, 20*time.Second, 5*time.Millisecond, statement)
				}
			}
		}
	}
	wipe := []string{"DELETE FROM snowlease_slot", "DELETE FROM snowlease_ticket", "DELETE FROM snowlease_meta"}
	drop := []string{"DROP TABLE IF EXISTS snowlease_slot", "DROP TABLE IF EXISTS snowlease_ticket", "DROP TABLE IF EXISTS snowlease_meta"}
	some := []string{"DELETE FROM snowlease_slot WHERE slot < 2"}
	for _, e := range engines {
		for name, lose := range map[string]func(*testing.T, *gorm.DB){
			"first start": nil, "all rows": losing(wipe), "some slots": losing(some), "tables dropped": losing(drop),
			"two losses": losing(some, wipe), "three losses": losing(wipe, drop, wipe[2:]),
		} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				lossToGrant(t, e, e.dsn(t), lose)
			})
		}
		if e.start != nil {
			t.Run(e.name+"/restart", func(t *testing.T) {
				t.Parallel()
				srv := e.start(t)
				lossToGrant(t, e, srv.DSN(), func(*testing.T, *gorm.DB) {
					srv.Stop()
					srv.ShiftClock(time.Second) // MySQL knows seconds only
					srv.Start()
				})
			})
		}
	}
}

// lossToGrant lets two holders draw ids if there is something to lose, loses it, and
// starts two more processes. There are four worker ids.
func lossToGrant(t *testing.T, e engine, dsn string, lose func(*testing.T, *gorm.DB)) {
	t.Helper()
	f := &fleet{t: t, db: e.db(t, dsn), grants: map[lease.Grant]int64{}, lent: map[int64]*member{}}
	if lose != nil {
		require.NoError(t, snowlease.Init(t.Context(), center(t, f.db), config))
		for range 2 {
			require.NoError(t, f.member().start())
		}
		lose(t, f.db)
	}
	at := time.Now()
	var started sync.WaitGroup
	for _, m := range []*member{f.member(), f.member()} {
		started.Go(func() {
			err := m.start()
			after := time.Since(at).Round(time.Millisecond)
			assert.NoError(t, err)
			if q := m.refused.Load(); q != nil {
				t.Logf("a grant %v after the loss; refused at first, for %v", after, q.Wait())
				assert.LessOrEqual(t, q.Wait(), lease.DefaultSkew+500*time.Millisecond)
			}
		})
	}
	started.Wait()
	require.Eventually(t, func() bool {
		quarantine := number(t, f.db, "SELECT quarantine_ms FROM snowlease_meta WHERE ns = 'orders'")
		for _, m := range f.members {
			if s := m.worker.Status(); s.State != snowlease.StateReady || s.Floor.UnixMilli() < quarantine {
				return false
			}
		}
		return quarantine > 0
	}, 20*time.Second, 10*time.Millisecond, "all go on above what may have been forgotten")
	f.stop()
}

// A fleet is a set of processes that draw ids.
type fleet struct {
	t  *testing.T
	db *gorm.DB

	members []*member
	drawing sync.WaitGroup

	mu     sync.Mutex
	grants map[lease.Grant]int64 // their ceilings, by what no renewal changes
	lent   map[int64]*member     // by tick and worker id
}

// A member is a process. It stands between its worker and the center.
type member struct {
	lease.Center
	fleet   *fleet
	worker  *snowlease.Worker
	refused atomic.Pointer[lease.QuarantineError] // the refusal at its start
	quit    chan struct{}
}

// config is that of all members. They renew several times a second, so that tests do not wait.
var config = snowlease.Config{Namespace: "orders", Layout: snowflake.Layout{WorkerBits: 2}.WithDefaults(), Schedule: often{}, Wait: 30 * time.Second}

type often struct{}

func (often) Next(t time.Time) time.Time { return t.Add(200 * time.Millisecond) }

func (f *fleet) member() *member {
	f.t.Helper()
	m := &member{Center: center(f.t, f.db), fleet: f, quit: make(chan struct{})}
	var err error
	m.worker, err = snowlease.New(m, config)
	require.NoError(f.t, err)
	f.members = append(f.members, m)
	return m
}

func (m *member) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := m.Center.Acquire(ctx, req)
	if q := (*lease.QuarantineError)(nil); errors.As(err, &q) {
		m.refused.CompareAndSwap(nil, q)
	}
	return m.fleet.got(g, err)
}

func (m *member) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	return m.fleet.got(m.Center.Renew(ctx, g))
}

// got notes a grant as it was last extended.
func (f *fleet) got(g lease.Grant, err error) (lease.Grant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		key := lease.Grant{Worker: g.Worker, Token: g.Token, Floor: g.Floor}
		f.grants[key] = max(f.grants[key], g.Ceiling)
	}
	return g, err
}

// start borrows a worker id and begins to draw ids.
func (m *member) start() error {
	if err := m.worker.Start(m.fleet.t.Context()); err != nil {
		return err
	}
	m.fleet.drawing.Go(m.draw)
	return nil
}

// draw draws ids until the end. None may fail, and no two members may share a tick of a
// worker id.
func (m *member) draw() {
	shift := config.Layout.BusinessBits + config.Layout.SequenceBits
	for last := int64(0); ; {
		select {
		case <-m.quit:
			return
		case <-time.After(200 * time.Microsecond):
		}
		id, err := m.worker.NextID()
		if !assert.NoError(m.fleet.t, err) || !assert.Greater(m.fleet.t, id, last) || !m.mine(id>>shift) {
			return
		}
		last = id
	}
}

func (m *member) mine(tick int64) bool {
	m.fleet.mu.Lock()
	defer m.fleet.mu.Unlock()
	other, lent := m.fleet.lent[tick]
	m.fleet.lent[tick] = m
	return assert.False(m.fleet.t, lent && other != m, "two members have a tick of worker id %d", tick%config.Layout.Workers())
}

func (f *fleet) stop() {
	f.t.Helper()
	require.Eventually(f.t, func() bool { f.mu.Lock(); defer f.mu.Unlock(); return len(f.lent) > 0 }, 20*time.Second, time.Millisecond, "no id was drawn")
	for _, m := range f.members {
		close(m.quit)
	}
	f.drawing.Wait()
	for _, m := range f.members {
		require.NoError(f.t, m.worker.Close())
	}
	var grants []lease.Grant
	for g, ceiling := range f.grants {
		g.Ceiling = ceiling
		grants = append(grants, g)
	}
	requireDisjoint(f.t, grants...)
}

// TestSlotsCreatedLate: a first call notices a loss and pauses. Others lend, and lose records
// again. Then the call creates the records, so the second loss does not show.
func TestSlotsCreatedLate(t *testing.T) {
	for name, at := range map[string]struct {
		skew, lent, back time.Duration
		dies             bool // the call, when the records are there
	}{
		"after the quarantine":       {2 * time.Second, time.Minute, 0, false},
		"the clock has stepped back": {2 * time.Second, 2500 * time.Millisecond, 1500 * time.Millisecond, true},
		"a skew below a second":      {100 * time.Millisecond, 500 * time.Millisecond, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, e engine, dsn string) {
				s, slow, n := countedByAClock(t, e, dsn)
				other := s.center(t)
				req := func() lease.Request {
					r := request("orders", 1)
					r.Skew, r.MaxLead = at.skew, r.MaxTTL-250*time.Millisecond
					return r
				}
				if at.dies {
					n.after = failing("INTO snowlease_slot", errors.New("the process died"))
				}
				resume := pausedBefore(t, n, "snowlease_slot", func() error {
					_, err := slow.Acquire(t.Context(), req())
					return err
				})

				_, err := other.Acquire(t.Context(), req())
				require.ErrorAs(t, err, new(*lease.QuarantineError))
				s.Sleep(at.lent)
				held := acquire(t, other, req())
				rawExec(t, s.db, "DELETE FROM snowlease_slot")
				s.Sleep(-at.back)
				err = resume()
				if at.dies {
					require.ErrorContains(t, err, "the process died")
				} else {
					require.ErrorAs(t, err, new(*lease.QuarantineError))
					_, err = other.Acquire(t.Context(), req())
					q := (*lease.QuarantineError)(nil)
					require.ErrorAs(t, err, &q)
					s.Sleep(q.Wait())
				}
				next, err := other.Acquire(t.Context(), req())
				for end := 100; at.dies && err != nil && end > 0; end-- {
					s.Sleep(100 * time.Millisecond)
					next, err = other.Acquire(t.Context(), req())
				}
				require.NoError(t, err)
				requireDisjoint(t, held, next)
			})
		})
	}
}

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

// TestAllLostWhileItIsCreated: the slots show greater times than the member has that creates the record of
// the namespace. It allows for these although the slots are lost too by its next look.
func TestAllLostWhileItIsCreated(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		s, c, n := countedByAClock(t, e, dsn)
		greater := request("orders", 1)
		greater.MaxTTL *= 2
		require.NoError(t, s.center(t).Extras().Init(t.Context(), greater))
		rawExec(t, s.db, "DELETE FROM snowlease_meta")
		created := false
		n.before = func(_ int64, query string) error {
			if created && strings.Contains(query, "m.ns IS NOT NULL") {
				created = false
				rawExec(t, s.db, "DELETE FROM snowlease_slot")
			}
			created = created || strings.Contains(query, "INTO snowlease_meta")
			return nil
		}
		now := number(t, s.db, "SELECT ms FROM snowlease_host")
		require.GreaterOrEqual(t, requireQuarantine(t, c, request("orders", 1)).Until.UnixMilli(), now+greater.Pin().Hold().Milliseconds())
		require.EqualValues(t, 1, number(t, s.db, "SELECT COUNT(*) FROM snowlease_slot"))
	})
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
