package simulate

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

// TestTeeth checks that the seeds of CI find each of these faults.
func TestTeeth(t *testing.T) {
	for _, tooth := range []struct {
		name    string
		subject WorkerIDs
		rule    Rule
		plan    func(seed int) Plan // nil: the plan of the seeds that CI runs on the store
		from    int                 // the seed to begin with, which found the fault; 0: the first
	}{
		// Holders.
		{"holder ignores its ceiling", held(NewMemory, pastCeiling), Duplicate, nil, 0},
		{"holder ignores its ceiling, Redis", held(NewRedis, pastCeiling), Duplicate, nil, 0},
		{"holder ignores its ceiling, SQLite", held(NewSQLite, pastCeiling), Duplicate, nil, 0},
		{"holder ignores its floor", held(NewMemory, belowFloor), Outside, nil, 0},
		{"release says that nothing was used", held(NewMemory, usedNothing), Duplicate, nil, 152},
		{"release says that nothing was used, Redis", held(NewRedis, usedNothing), Overlap, nil, 67},
		{"release says that nothing was used, SQLite", held(NewSQLite, usedNothing), Overlap, nil, 0},
		{"loss is not taken for one", held(NewMemory, neverLost), Starved, nil, 0},
		{"batch in the wrong order", WorkerIDs{Store: NewMemory, Process: reversed}, Falls, nil, 0},

		// Centers.
		{"no quarantine", center(noQuarantine), Duplicate, nil, 0},
		{"another server not noticed", WorkerIDs{Store: newUnnoticed}, Overlap, nil, 0},
		{"another server not noticed, Redis", WorkerIDs{Store: NewRedis, Center: func(s Store, _ *Host) (lease.Center, error) {
			return redisseq.New(s.(*Redis).Client, redisseq.WithDurable(true))
		}}, Overlap, nil, 0},
		{"another server not noticed, SQLite", WorkerIDs{Store: NewSQLite, Center: func(s Store, _ *Host) (lease.Center, error) {
			return dbseq.New(s.(*SQLite).pool, dbseq.SQLite, dbseq.WithDurable(true))
		}}, Overlap, nil, 0},
		{"release by anybody", center(unfencedRelease), MarkFell, nil, 34},

		// Time without ids.
		{"who starts waits for exact times", center(exactStart), Late, examples(CalmPlans()), 0},
		{"holders wait for exact times", center(exactHolder), Paused, examples(CalmPlans()), 24},

		// Transactions of etcd, and clusters.
		{"holder ignores its ceiling, etcd", held(NewEtcd, pastCeiling), Duplicate, nil, 0},
		{"release says that nothing was used, etcd", held(NewEtcd, usedNothing), Overlap, nil, 152},
		{"transactions compare nothing", comparing(nothing), Duplicate, nil, 0},
		{"transactions do not compare the record of the namespace", comparing(butMeta), Overlap, firstBorrows, 247},
		{"transactions do not compare the record of the worker id", comparing(butWorker), Duplicate, nil, 0},
		{"acknowledged writes are lost", onEtcd(forgetful), Overlap, nil, 85},
		{"a restore that does not show, and no quarantine by hand", onEtcd(silent), Overlap, nil, 29},
		{"a write does not tell which cluster it reached", onEtcd(unmarked), Duplicate, betweenReadAndWrite, 0},
	} {
		t.Run(tooth.name, func(t *testing.T) {
			t.Parallel()
			store, err := tooth.subject.Store()
			require.NoError(t, err)
			require.NoError(t, store.Close())
			plan := tooth.plan
			if plan == nil {
				plan = examples(plansOf(store.Name()))
			}
			bites(t, tooth.subject, tooth.rule, plan, tooth.from, seedsOf[store.Name()])
		})
	}
}

// bites checks that one of n seeds breaks the rule. It begins with the seed from.
func bites(t *testing.T, subject Subject, rule Rule, plan func(seed int) Plan, from, n int) {
	t.Helper()
	for i := range n {
		seed := (max(from, 1)+i-1)%n + 1
		r := Run(t, plan(seed), subject)
		require.NoError(t, r.Err, "seed %d:\n%s", seed, r)
		if r.Broken[rule] > 0 {
			t.Logf("seed %d: %v", seed, r.Violations)
			return
		}
	}
	t.Fatalf("not found in %d seeds", n)
}

func held(store func() (Store, error), holder func(lease.Center) lease.Center) WorkerIDs {
	return WorkerIDs{Store: store, Holder: holder}
}

// odd is a center with some verbs replaced: those that are not nil.
type odd struct {
	lease.Center
	acquire func(context.Context, lease.Request) (lease.Grant, error)
	renew   func(context.Context, lease.Grant) (lease.Grant, error)
	release func(context.Context, lease.Grant, int64) error
}

func (o odd) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	if o.acquire == nil {
		return o.Center.Acquire(ctx, req)
	}
	return o.acquire(ctx, req)
}

func (o odd) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	if o.renew == nil {
		return o.Center.Renew(ctx, g)
	}
	return o.renew(ctx, g)
}

func (o odd) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if o.release == nil {
		return o.Center.Release(ctx, g, lastUsed)
	}
	return o.release(ctx, g, lastUsed)
}

// shown shows a process bounds that differ from those of its grant.
func shown(c lease.Center, floor, ceiling int64) lease.Center {
	change := func(g lease.Grant, err error) (lease.Grant, error) {
		if err == nil {
			g.Floor, g.Ceiling = g.Floor+floor, g.Ceiling+ceiling
		}
		return g, err
	}
	truth := func(g lease.Grant) lease.Grant {
		g.Floor, g.Ceiling = g.Floor-floor, g.Ceiling-ceiling
		return g
	}
	return odd{
		Center:  c,
		acquire: func(ctx context.Context, req lease.Request) (lease.Grant, error) { return change(c.Acquire(ctx, req)) },
		renew:   func(ctx context.Context, g lease.Grant) (lease.Grant, error) { return change(c.Renew(ctx, truth(g))) },
		release: func(ctx context.Context, g lease.Grant, used int64) error { return c.Release(ctx, truth(g), used) },
	}
}

func pastCeiling(c lease.Center) lease.Center { return shown(c, 0, time.Hour.Milliseconds()) }
func belowFloor(c lease.Center) lease.Center  { return shown(c, -time.Hour.Milliseconds(), 0) }

func usedNothing(c lease.Center) lease.Center {
	return odd{Center: c, release: func(ctx context.Context, g lease.Grant, _ int64) error { return c.Release(ctx, g, g.Floor) }}
}

func neverLost(c lease.Center) lease.Center {
	return odd{Center: c, renew: func(ctx context.Context, g lease.Grant) (lease.Grant, error) {
		renewed, err := c.Renew(ctx, g)
		if errors.Is(err, lease.ErrLost) {
			err = errors.New("try again")
		}
		return renewed, err
	}}
}

// reversed reverses batches.
func reversed(h *Host) (Process, error) {
	p, err := NewProcess(h)
	return reverser{p}, err
}

type reverser struct{ Process }

func (r reverser) Issue(ctx context.Context, dst []int64) error {
	err := r.Process.Issue(ctx, dst)
	slices.Reverse(dst)
	return err
}

// unnoticed becomes another server without showing it.
type unnoticed struct{ *Memory }

func newUnnoticed() (Store, error) {
	m, err := NewMemory()
	return unnoticed{m.(*Memory)}, err
}

func (unnoticed) Reincarnate() error { return nil }

// A wrong center is the real one, with records changed before or after its verbs.
type wrong struct {
	lease.Center
	store *Memory
}

func center(of func(wrong) odd) WorkerIDs {
	return WorkerIDs{Store: NewMemory, Center: func(s Store, _ *Host) (lease.Center, error) {
		c, err := s.Center(nil)
		o := of(wrong{c, s.(*Memory)})
		o.Center = c
		return o, err
	}}
}

func (w wrong) change(f func(ns *rules.Namespace, now int64)) {
	now := w.store.Now().UnixMilli()
	w.store.Records.Change("sim", func(ns rules.Namespace) rules.Namespace {
		ns.Slots = slices.Clone(ns.Slots)
		f(&ns, now)
		return ns
	})
}

func quarantined(err error) bool { return errors.As(err, new(*lease.QuarantineError)) }

func noQuarantine(w wrong) odd {
	return odd{acquire: func(ctx context.Context, req lease.Request) (lease.Grant, error) {
		g, err := w.Acquire(ctx, req)
		if !quarantined(err) {
			return g, err
		}
		w.change(func(ns *rules.Namespace, _ int64) { ns.Meta.Quarantine = 0 })
		return w.store.Records.Acquire(ctx, req)
	}}
}

func exactStart(w wrong) odd {
	return odd{acquire: func(ctx context.Context, req lease.Request) (lease.Grant, error) {
		req.MaxLead = 0
		return w.Acquire(ctx, req)
	}}
}

func exactHolder(w wrong) odd {
	return odd{renew: func(ctx context.Context, g lease.Grant) (lease.Grant, error) {
		g.MaxLead = 0
		return w.Renew(ctx, g)
	}}
}

func unfencedRelease(w wrong) odd {
	return odd{release: func(ctx context.Context, g lease.Grant, lastUsed int64) error {
		err := w.Release(ctx, g, lastUsed)
		if errors.Is(err, lease.ErrLost) {
			w.change(func(ns *rules.Namespace, now int64) {
				if int(g.Worker) < len(ns.Slots) {
					ns.Slots[g.Worker].Expires, ns.Slots[g.Worker].Mark = now-1, lastUsed
				}
			})
		}
		return err
	}}
}
