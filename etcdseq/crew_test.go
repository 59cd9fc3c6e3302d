package etcdseq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// The leases of the crew.
const (
	ttl  = 2 * time.Second
	skew = 300 * time.Millisecond
)

var layout = snowflake.Layout{}.WithDefaults()

func request() lease.Request {
	r := keeper.NewRequest("crew", layout)
	r.Owner, r.TTL, r.MaxTTL, r.Skew = lease.NewOwner(), ttl, ttl, skew
	return r
}

// followers returns the members that do not lead.
func followers(e *testserver.Etcd) []*testserver.Server {
	leader := e.Leader()
	return slices.DeleteFunc(slices.Clone(e.Nodes), func(s *testserver.Server) bool { return s == leader })
}

// A crew is members that issue ids, and end and begin anew. It checks that the ids are
// unique: those of a member rise, and no millisecond of a worker id is used by two members.
// So it needs no memory for each id.
type crew struct {
	began time.Time
	rest  time.Duration     // of a member after 200 ids
	used  [][]atomic.Uint32 // by worker id and millisecond: the number of the member
	wait  sync.WaitGroup

	ids, members, grants, holding atomic.Int64

	mu       sync.Mutex
	lent     map[int64]holder // by worker id
	failures []error
}

// A holder is the member that got a worker id last.
type holder struct {
	member        uint32
	past, ceiling int64 // what members before it may have used, and what it may
}

// before is how much earlier than its begin, and later than its end, ids of a crew may be.
const before = time.Minute

func newCrew(length time.Duration) *crew {
	c := &crew{began: time.Now(), rest: 5 * time.Millisecond, lent: map[int64]holder{}, used: make([][]atomic.Uint32, layout.Workers())}
	for w := range c.used {
		c.used[w] = make([]atomic.Uint32, (length + 2*before).Milliseconds())
	}
	return c
}

func (c *crew) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.failures) < 10 {
		c.failures = append(c.failures, err)
	}
}

// require ends the test unless all ids are unique.
func (c *crew) require(t testing.TB) {
	t.Helper()
	c.wait.Wait()
	t.Logf("%.3g ids of %d members, by %d grants and renewals", float64(c.ids.Load()), c.members.Load(), c.grants.Load())
	require.NoError(t, errors.Join(c.failures...))
}

// serve lets as many members serve until the context ends.
func (c *crew) serve(ctx context.Context, many int, center lease.Center) {
	for range many {
		c.wait.Go(func() {
			for ctx.Err() == nil {
				c.live(ctx, center)
			}
		})
	}
}

// live is the life of a member, which ends well or in a crash.
func (c *crew) live(ctx context.Context, center lease.Center) {
	m := &member{Center: center, crew: c, number: uint32(c.members.Add(1))}
	k, err := snowlease.Open(ctx, m, snowlease.Config{Namespace: "crew", Layout: layout, TTL: ttl, MaxTTL: ttl, Skew: skew, Wait: 5 * time.Second})
	if err != nil {
		return
	}
	c.holding.Add(1)
	defer c.holding.Add(-1)
	var last int64
	for end := time.Now().Add(ttl + rand.N(2*ttl)); time.Now().Before(end) && ctx.Err() == nil; time.Sleep(c.rest) {
		for range 200 {
			id, err := k.NextID()
			if err != nil {
				break
			}
			if id <= last {
				c.failed(fmt.Errorf("member %d: id %d after %d", m.number, id, last))
			}
			last = id
			c.note(m.number, id)
		}
	}
	m.crashed.Store(rand.N(2) == 0)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	_ = k.Stop(stopping) // a center that is away keeps the worker id
}

func (c *crew) note(number uint32, id int64) {
	c.ids.Add(1)
	parts, err := layout.Decode(id)
	if err != nil {
		c.failed(err)
		return
	}
	at := parts.Time.Sub(c.began.Add(-before)).Milliseconds()
	if at < 0 || at >= int64(len(c.used[0])) {
		c.failed(fmt.Errorf("member %d: an id of %v", number, parts.Time))
		return
	}
	place := &c.used[parts.Worker][at]
	if !place.CompareAndSwap(0, number) && place.Load() != number {
		c.failed(fmt.Errorf("members %d and %d both use %v of worker id %d", place.Load(), number, parts.Time, parts.Worker))
	}
}

// A member is the center as a member sees it.
type member struct {
	lease.Center
	crew    *crew
	number  uint32
	crashed atomic.Bool
}

func (m *member) Acquire(ctx context.Context, req lease.Request) (lease.Grant, error) {
	g, err := m.Center.Acquire(ctx, req)
	return g, m.granted(g, err)
}

func (m *member) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	renewed, err := m.Center.Renew(ctx, g)
	return renewed, m.granted(renewed, err)
}

func (m *member) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	if m.crashed.Load() {
		return fmt.Errorf("crashed: %w", lease.ErrSetup) // which the keeper does not try again
	}
	m.crew.mu.Lock() // it gives up what it has not used, before the center learns of it
	if h := m.crew.lent[g.Worker]; h.member == m.number {
		h.ceiling = min(h.ceiling, max(lastUsed, g.Floor))
		m.crew.lent[g.Worker] = h
	}
	m.crew.mu.Unlock()
	return m.Center.Release(ctx, g, lastUsed)
}

// granted checks that the range begins above all that others may have used.
func (m *member) granted(g lease.Grant, err error) error {
	if err != nil {
		return err
	}
	c := m.crew
	c.grants.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	h := c.lent[g.Worker]
	if h.member != m.number {
		h = holder{member: m.number, past: max(h.past, h.ceiling)}
	}
	if g.Floor < h.past {
		c.failures = append(c.failures, fmt.Errorf("worker id %d: member %d has (%d, %d], and others have used it up to %d", g.Worker, m.number, g.Floor, g.Ceiling, h.past))
	}
	h.ceiling = max(h.ceiling, g.Ceiling)
	c.lent[g.Worker] = h
	return nil
}

// await waits until as many members hold a worker id.
func (c *crew) await(t testing.TB, many int64) {
	t.Helper()
	require.Eventually(t, func() bool { return c.holding.Load() >= many }, 20*time.Second, 10*time.Millisecond, "%d members hold a worker id", many)
}
