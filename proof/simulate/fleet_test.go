package simulate

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

const backlog = 4096 // Linux's bound on connections that nobody has accepted

// A queue is a store that is only just fast enough: so many cores, each with one call at a
// time, in the order in which they came. It carries out what nobody waits for any more.
type queue struct {
	lender
	members int
	service time.Duration // of a call, on a core
	away    time.Duration // from gone on
	refuses bool          // connections while it is away; otherwise it stands still
	mu      sync.Mutex
	gone    time.Time
	cores   []time.Time // when each is idle, in order
	under   int         // calls sent and not carried out
	dead    int         // calls carried out after they were given up
	rate    map[int64]int
}

// call waits for a core, then for the call.
func (q *queue) call(ctx context.Context, do func()) error {
	q.mu.Lock()
	now := time.Now()
	back := q.gone.Add(q.away)
	q.rate[now.Unix()]++
	switch isAway := !now.Before(q.gone) && now.Before(back); {
	case isAway && q.refuses:
		q.mu.Unlock()
		return errors.New("connection refused")
	case q.under >= q.members+backlog:
		q.mu.Unlock()
		<-ctx.Done()
		return ctx.Err()
	}
	q.under++
	begins := now
	if q.cores[0].After(begins) {
		begins = q.cores[0]
	}
	if !begins.Before(q.gone) && begins.Before(back) {
		begins = back
	}
	ends := begins.Add(q.service)
	q.cores[0] = ends
	slices.SortFunc(q.cores, time.Time.Compare)
	q.mu.Unlock()

	done := make(chan struct{})
	time.AfterFunc(ends.Sub(now), func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.under--
		if ctx.Err() != nil {
			q.dead++
		}
		do()
		close(done)
	})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A lender has the rules of package lease without losses of records.
type lender struct {
	slots []lease.Grant
	mine  map[[16]byte]int
	next  int
}

func (q *queue) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	if late := q.call(ctx, func() { g, err = q.lend(req) }); late != nil {
		return lease.Grant{}, late
	}
	return g, err
}

func (l *lender) lend(req lease.Request) (lease.Grant, error) {
	now := time.Now().UnixMilli()
	if i, ok := l.mine[req.Owner]; ok && l.slots[i].Ceiling >= now {
		return l.slots[i], nil
	}
	for range l.slots {
		i := l.next
		l.next = (l.next + 1) % len(l.slots)
		if s := l.slots[i]; s.Ceiling < now {
			delete(l.mine, s.Owner)
			l.mine[req.Owner] = i
			l.slots[i] = lease.Grant{
				Request: req, Worker: int64(i), Token: s.Token + 1,
				Now: now, Floor: max(s.Ceiling, now-1), Ceiling: now + req.TTL.Milliseconds(), Since: now,
			}
			return l.slots[i], nil
		}
	}
	return lease.Grant{}, &lease.NoFreeWorkerError{Namespace: req.Namespace, Last: int64(len(l.slots) - 1)}
}

func (q *queue) Renew(ctx context.Context, g lease.Grant) (next lease.Grant, err error) {
	if late := q.call(ctx, func() { next, err = q.extend(g) }); late != nil {
		return lease.Grant{}, late
	}
	return next, err
}

func (l *lender) extend(g lease.Grant) (lease.Grant, error) {
	now := time.Now().UnixMilli()
	s := &l.slots[g.Worker]
	if s.Owner != g.Owner || s.Ceiling < now+g.Skew.Milliseconds() {
		return lease.Grant{}, lease.ErrLost
	}
	s.Now, s.Ceiling = now, now+g.TTL.Milliseconds()
	return *s, nil
}

func (q *queue) Release(ctx context.Context, g lease.Grant, lastUsed int64) (err error) {
	return q.call(ctx, func() {
		if s := &q.slots[g.Worker]; s.Owner == g.Owner {
			s.Ceiling = min(max(lastUsed, s.Floor), s.Ceiling)
		}
	})
}

func (*queue) Extras() lease.Extras { return lease.Extras{Name: "queue"} }

func (*queue) Close() error { return nil }

// A member is one process.
type member struct {
	*keeper.Keeper
	ids *generator.Generator
}

// An outcome is how the members got through an outage.
type outcome struct {
	started, recovered   time.Duration // until all had ids; recovered is never if that took minutes
	starting, away, back int           // greatest calls a second: at the start, during the outage and after it
	dead                 int           // as in queue
}

const never = 2 * time.Minute

// endure starts the members, takes the store away for as long as it says and lets it come
// back.
func endure(t *testing.T, q *queue, spread time.Duration) (o outcome) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		layout := snowflake.Layout{WorkerBits: 14}.WithDefaults()
		q.lender = lender{slots: make([]lease.Grant, layout.Workers()), mine: map[[16]byte]int{}}
		q.gone, q.rate = time.Now().Add(time.Hour), map[int64]int{}
		fleet := make([]member, q.members)
		for i := range fleet {
			ids := generator.New(layout)
			k := keeper.New(keeper.Config{Center: q, Generator: ids, Request: memcenter.NewRequest("fleet", layout), Wait: 5 * time.Minute})
			fleet[i] = member{k, ids}
		}
		seen := make(map[int64]bool, 4*q.members)
		use := func() (without int) {
			for _, m := range fleet {
				id, err := m.ids.NextID()
				if err != nil {
					without++
					continue
				}
				require.False(t, seen[id], "%d twice", id)
				seen[id] = true
			}
			return without
		}
		greatest := func() (n int) {
			q.mu.Lock()
			defer q.mu.Unlock()
			for _, r := range q.rate {
				n = max(n, r)
			}
			clear(q.rate)
			return n
		}

		began := time.Now()
		var starting, stopping sync.WaitGroup
		for i, m := range fleet {
			starting.Go(func() {
				time.Sleep(spread * time.Duration(i) / time.Duration(q.members))
				if err := m.Start(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		starting.Wait()
		o.started, o.starting = time.Since(began), greatest()
		time.Sleep(20 * time.Second)
		require.Zero(t, use())

		q.mu.Lock()
		q.gone = time.Now()
		q.mu.Unlock()
		greatest()
		time.Sleep(q.away)
		o.away = greatest()
		back := time.Now()
		for o.recovered = never; time.Since(back) < never; time.Sleep(100 * time.Millisecond) {
			if !slices.ContainsFunc(fleet, func(m member) bool { return m.ids.Err() != nil }) {
				o.recovered = time.Since(back)
				break
			}
		}
		time.Sleep(20 * time.Second)
		o.back, o.dead = greatest(), q.dead
		if o.recovered < never {
			require.Zero(t, use(), "and keep them")
		}
		for _, m := range fleet {
			stopping.Go(func() { _ = m.Stop(context.Background()) })
		}
		stopping.Wait()
		time.Sleep(5 * time.Minute) // until nothing is queued
	})
	return o
}

// starved returns a store that can renew half as many leases again as n members need.
func starved(n int, refuses bool) *queue {
	return &queue{members: n, service: 20 * time.Second / time.Duration(n), away: time.Minute, refuses: refuses, cores: make([]time.Time, 3)}
}

// 10,000 processes on a starved store recover by themselves after it was away for a
// minute: as soon as it has carried out what it was sent meanwhile, and two calls for
// each of them.
func TestFleetRecovers(t *testing.T) {
	const members = 10_000
	for name, c := range map[string]struct {
		spread  time.Duration
		refuses bool
		sent    int // while it is away
	}{
		"in step, the store stands still": {0, false, members + backlog},
		"spread, the store refuses":       {10 * time.Second, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := starved(members, c.refuses)
			o := endure(t, q, c.spread)
			t.Logf("%+v", o)
			calls := func(n int) time.Duration { return q.service * time.Duration(n) / time.Duration(len(q.cores)) }
			require.LessOrEqual(t, o.started, max(c.spread, calls(members))+time.Second)
			require.LessOrEqual(t, o.recovered, calls(c.sent+2*members)+3*time.Second)
			require.LessOrEqual(t, o.dead, c.sent)
			require.LessOrEqual(t, o.away, members*3/4)
			require.LessOrEqual(t, o.back, members*3/4)
		})
	}
}
