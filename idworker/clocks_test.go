//go:build prove

package idworker_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// A witness is a center that records its grants, each as it was last renewed.
type witness struct {
	lease.Center
	mu    sync.Mutex
	loans map[loan]lease.Grant
}

type loan struct {
	owner [16]byte
	floor int64
}

func (w *witness) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := w.Center.Acquire(ctx, req)
	return w.note(g, err)
}

func (w *witness) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	g, err := w.Center.Renew(ctx, g)
	return w.note(g, err)
}

func (w *witness) note(g lease.Grant, err error) (lease.Grant, error) {
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.loans == nil {
			w.loans = map[loan]lease.Grant{}
		}
		at := loan{g.Owner, g.Floor}
		w.loans[at] = g
		if before, ok := w.loans[at]; ok && before.Ceiling > g.Ceiling {
			w.loans[at] = before
		}
	}
	return g, err
}

// requireDisjoint checks that no two grants of a worker id share a millisecond.
func (w *witness) requireDisjoint(t *testing.T) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, a := range w.loans {
		for l, b := range w.loans {
			if k != l && a.Worker == b.Worker {
				require.GreaterOrEqual(t, max(a.Floor, b.Floor), min(a.Ceiling, b.Ceiling),
					"worker %d: (%d, %d] and (%d, %d] overlap", a.Worker, a.Floor, a.Ceiling, b.Floor, b.Ceiling)
			}
		}
	}
}

// The clock of a real server steps: back and forth within what a borrower accepts, an hour
// either way, and back by the skew across a restart. Grants share no millisecond, ids
// ascend, and they continue: at once if a lease can be had, otherwise as soon as the clock
// is close enough to borrow by.
func TestClockOfTheCenterSteps(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(testing.TB) (*testserver.Server, lease.Center){
		"redis": func(t testing.TB) (*testserver.Server, lease.Center) {
			srv := testserver.NewRedis(t, "--appendonly", "yes", "--appendfsync", "always")
			c, err := redisseq.New(newRedis(t, srv.Addr()))
			require.NoError(t, err)
			return srv, c
		},
		"mariadb": func(t testing.TB) (*testserver.Server, lease.Center) {
			srv := testserver.NewMariaDB(t)
			c, err := dbseq.Open("mysql", srv.DSN())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
			return srv, c
		},
		"mysql": func(t testing.TB) (*testserver.Server, lease.Center) {
			srv := testserver.NewMySQL(t)
			c, err := dbseq.Open("mysql", srv.DSN())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
			return srv, c
		},
		"postgres": func(t testing.TB) (*testserver.Server, lease.Center) {
			srv := testserver.NewPostgres(t)
			c, err := dbseq.Open("pgx", srv.DSN())
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, c.Close()) })
			return srv, c
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv, center := start(t)
			c := &witness{Center: center}
			cfg := idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{TTL: 8 * time.Second}, Store: idworker.StoreConfig{Skew: time.Second}, Wait: time.Minute}
			cfg.Lease.MaxTTL = cfg.Lease.TTL
			req, err := cfg.Request()
			require.NoError(t, err)
			require.NoError(t, center.Extras().Init(t.Context(), req))

			w, err := idworker.Open(t.Context(), cfg, idworker.WithCenter(c))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, w.Stop(context.Background())) })
			prev := int64(0)
			next := func() error {
				id, err := w.NextID()
				if err != nil {
					return err
				}
				require.Greater(t, id, prev)
				prev = id
				return nil
			}
			// until issues an id every millisecond until ready returns true. It returns how
			// many calls failed.
			until := func(ready func() bool) (gaps int) {
				t.Helper()
				require.Eventually(t, func() bool {
					if next() != nil {
						gaps++
					}
					return ready()
				}, time.Minute, time.Millisecond)
				return gaps
			}
			// step steps the clock and returns once a renewal or another worker id shows it.
			step := func(d time.Duration) (gaps int) {
				t.Helper()
				srv.ShiftClock(d)
				stepped := time.Now()
				return until(func() bool { return w.Status().Renewed.After(stepped.Add(time.Second)) && ready(w) })
			}
			borrow := func() error {
				req.Owner, req.Local = lease.NewOwner(), time.Now().UnixMilli()
				_, err := c.Acquire(t.Context(), req)
				c.requireDisjoint(t)
				return err
			}

			require.NoError(t, borrow())
			ceiling := w.Status().Ceiling
			srv.ShiftClock(time.Hour)
			until(func() bool { return w.Status().State == snowlease.StateExpired })
			require.ErrorAs(t, borrow(), new(*lease.ClockError))
			p, err := w.Decode(prev)
			require.NoError(t, err)
			require.WithinDuration(t, ceiling, p.Time, time.Minute, "no id is an hour ahead")
			step(0)
			require.NoError(t, next(), "ids are back with the clock")
			require.NoError(t, borrow())

			require.Zero(t, step(-time.Hour), "who holds a worker id goes on with it")
			require.ErrorAs(t, borrow(), new(*lease.ClockError))
			require.Zero(t, step(0))

			srv.Kill()
			srv.ShiftClock(-cfg.Store.Skew)
			srv.Start()
			step(-cfg.Store.Skew)
			until(func() bool { return borrow() == nil }) // after the quarantine
			until(func() bool { return next() == nil })   // the lease may have expired meanwhile
			step(0)

			require.Zero(t, step(4*time.Minute), "another worker id is borrowed while the range is used up")
			require.NoError(t, borrow())
			require.Zero(t, step(-4*time.Minute), "the ceiling stands, and ids stay below it")
			if err := borrow(); err != nil { // by this clock the quarantine has not ended
				require.ErrorAs(t, err, new(*lease.QuarantineError))
			}
			require.Zero(t, step(0))
			require.NoError(t, borrow())
			require.GreaterOrEqual(t, len(c.loans), 6)
		})
	}
}
