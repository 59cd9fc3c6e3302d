package fleet_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate"
	"github.com/snowlease/snowlease/migrate/takeover"
	"github.com/snowlease/snowlease/proof/internal/fleet"
	"github.com/snowlease/snowlease/snowflake"
)

// narrow and wide divide the same bits differently.
var (
	narrow = snowflake.Layout{TimeBits: 41, WorkerBits: 3, SequenceBits: 4}.WithDefaults()
	wide   = snowflake.Layout{TimeBits: 41, WorkerBits: 5, SequenceBits: 2}.WithDefaults()
	usual  = snowflake.Layout{TimeBits: 41, WorkerBits: 5, SequenceBits: 3}.WithDefaults()
)

// some is how many ids each process issues between two steps.
const some = 2000

// A place is a namespace in a center.
type place struct {
	engine, dsn, namespace string
	layout                 snowflake.Layout
}

// order returns an order for a process with these worker ids of the place; "" means all.
func (p place) order(workers string) fleet.Order {
	return fleet.Order{Engine: p.engine, DSN: p.dsn, Config: idworker.Config{
		Namespace: p.namespace, Layout: p.layout, Workers: workers,
		Lease: idworker.LeaseConfig{TTL: 2 * time.Second, MaxTTL: 30 * time.Second}, Store: idworker.StoreConfig{Skew: 200 * time.Millisecond}, Wait: 10 * time.Second,
	}}
}

// taker is order for Take, whose leases must outlast a slow machine.
func (p place) taker(workers string) fleet.Order {
	order := p.order(workers)
	order.Config.Lease.TTL = order.Config.Lease.MaxTTL
	return order
}

// TestMoving checks that a service can move to more worker ids, another center or another
// database while it issues ids. It follows the steps of docs/upgrade.md and checks that each
// step refuses to run too early.
func TestMoving(t *testing.T) {
	t.Parallel()
	program := build(t)
	on := func(t *testing.T, engine string, l snowflake.Layout) place {
		dsn := map[string]func(testing.TB) string{fleet.MySQL: testserver.MySQL, fleet.Postgres: testserver.Postgres, fleet.Redis: testserver.Redis}
		return place{engine, dsn[engine](t), namespace(), l}
	}
	wider := func(p place) place {
		p.namespace, p.layout = p.namespace+"-2", wide
		return p
	}
	for _, engine := range []string{fleet.MySQL, fleet.Postgres, fleet.Redis} {
		t.Run("more worker bits/"+engine, func(t *testing.T) {
			t.Parallel()
			old := on(t, engine, narrow)
			grow(t, program, old, wider(old))
		})
	}
	for name, engines := range map[string][2]string{
		"from MySQL to Redis":                   {fleet.MySQL, fleet.Redis},
		"from Redis to PostgreSQL":              {fleet.Redis, fleet.Postgres},
		"from PostgreSQL to another PostgreSQL": {fleet.Postgres, fleet.Postgres},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			move(t, program, on(t, engines[0], usual), on(t, engines[1], usual))
		})
	}
	t.Run("broken/worker ids that are not apart", func(t *testing.T) {
		t.Parallel()
		old := on(t, fleet.Redis, narrow)
		notApart(t, program, old, wider(old))
	})
}

// grow moves a namespace from eight worker ids to thirty-two while the service issues ids.
func grow(t *testing.T, program string, old, next place) {
	c := newCrew(t, program)
	c.open(old.taker(""))
	serving := c.start(old.order(""), 2)

	// The new layout is refused in the old namespace, and a second Init of the new one fails.
	wrong := next
	wrong.namespace = old.namespace
	require.Contains(t, c.refused(wrong.order("")).Error, "is pinned to layout={"+narrow.String())
	c.open(next.taker(""))
	again := c.side(next.taker(""))
	require.ErrorIs(t, again.Center.Extras().Init(c.ctx, again.Request), lease.ErrExists)

	// Old processes keep half of their worker ids. New ones get worker ids that do not
	// share these bits.
	halved := c.start(old.order("0-3"), 1)
	c.stop(serving[0])
	halved = append(halved, c.start(old.order("0-3"), 1)...)
	c.stop(serving[1])
	require.ErrorIs(t, takeover.Apart(c.side(old.taker("0-3")), c.side(next.taker(""))), takeover.ErrNotApart)
	require.ErrorIs(t, takeover.Apart(c.side(old.taker("0-3")), c.side(next.taker("15-31"))), takeover.ErrNotApart)
	require.NoError(t, takeover.Apart(c.side(old.taker("0-3")), c.side(next.taker("16-31"))))
	c.take(old, "4-7", next, "16-31") // above what the old processes did with the others
	moved := c.start(next.order("16-31"), 3)
	c.goOn(some, append(halved, moved...)...)

	// It is too early to hand over the rest while an old process runs.
	_, err := takeover.Take(c.ctx, c.side(old.taker("")), c.side(next.taker("0-15")))
	live := (*takeover.LiveError)(nil)
	require.ErrorAs(t, err, &live)
	require.Equal(t, "old", live.Side)
	require.NotEmpty(t, live.Holder)
	c.kill(halved[0])
	c.stop(halved[1])
	c.take(old, "", next, "0-15")

	// An old process that is started later is refused, however long it waits.
	require.Contains(t, c.refused(old.order("")).Error, fmt.Sprintf("is retired: its worker ids were taken over by namespace %q", next.namespace))
	all := c.start(next.order(""), 6)
	c.goOn(some, append(all, moved...)...)
	require.NoError(t, migrate.Follows(next.layout, old.layout, time.Now()))
	c.stop(append(all, moved...)...)
	c.moved()
}

// move moves one process after the other to another center, and finally all worker ids.
func move(t *testing.T, program string, old, next place) {
	const processes = 4
	c := newCrew(t, program)
	c.open(old.taker(""))
	c.open(next.taker(""))
	require.ErrorIs(t, takeover.Apart(c.side(old.taker("")), c.side(next.taker("16-31"))), takeover.ErrNotApart)
	require.NoError(t, takeover.Apart(c.side(old.taker("0-15")), c.side(next.taker("16-31"))))
	before := c.start(old.order("16-31"), processes)
	c.goOn(some, before...)
	serving := c.start(old.order("0-15"), processes)
	_, err := takeover.Take(c.ctx, c.side(old.taker("16-31")), c.side(next.taker("16-31")))
	live := (*takeover.LiveError)(nil)
	require.ErrorAs(t, err, &live, "it is too early")
	c.stop(before[1:]...)
	c.kill(before[0])
	c.take(old, "16-31", next, "16-31")
	for i, m := range serving {
		c.goOn(some, serving...)
		serving[i] = c.start(next.order("16-31"), 1)[0]
		if i == processes-1 {
			_, err := takeover.Take(c.ctx, c.side(old.taker("")), c.side(next.taker("0-15")))
			require.ErrorAs(t, err, &live)
		}
		if i%2 == 1 {
			c.kill(m)
		} else {
			c.stop(m)
		}
	}
	c.goOn(some, serving...)
	c.take(old, "", next, "0-15")
	all := c.start(next.order(""), processes)
	c.goOn(some, append(all, serving...)...)
	c.stop(append(all, serving...)...)
	c.moved()
}

// take hands worker ids over as soon as the leases of killed processes have expired.
// Their next holders start above all ids of the old side.
func (c *crew) take(old place, oldWorkers string, next place, workers string) {
	c.t.Helper()
	from, to := c.side(old.taker(oldWorkers)), c.side(next.taker(workers))
	r, err := takeover.Take(c.ctx, from, to)
	for live := (*takeover.LiveError)(nil); err != nil; r, err = takeover.Take(c.ctx, from, to) {
		require.ErrorAs(c.t, err, &live)
		require.Equal(c.t, "old", live.Side)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-c.ctx.Done():
			require.NoError(c.t, err)
		}
	}
	greatest := int64(0)
	for _, m := range c.members {
		if m.order.Config.Namespace != old.namespace || m.order.DSN != old.dsn {
			continue
		}
		ids, err := m.ids()
		require.NoError(c.t, err)
		for _, id := range ids {
			p, err := old.layout.Decode(id)
			require.NoError(c.t, err)
			if p.Worker >= from.Request.First && p.Worker <= from.Request.Last {
				greatest = max(greatest, p.Time.UnixMilli())
			}
		}
	}
	require.GreaterOrEqual(c.t, r.Mark, greatest, "no old id lies above the mark")
	require.GreaterOrEqual(c.t, r.Floor, r.Mark)
	require.Equal(c.t, oldWorkers == "", r.Retired)
	slots, err := to.Center.Extras().Lister.Slots(c.ctx, next.namespace)
	require.NoError(c.t, err)
	for _, slot := range slots[to.Request.First : to.Request.Last+1] {
		require.GreaterOrEqual(c.t, slot.Mark, r.Mark)
	}
}

// moved requires what check does, and that both namespaces lent worker ids.
func (c *crew) moved() {
	c.t.Helper()
	tally, lent := c.check(), map[string]map[int64]bool{}
	for _, m := range c.members {
		for _, l := range m.loans() {
			if lent[l.namespace] == nil {
				lent[l.namespace] = map[int64]bool{}
			}
			lent[l.namespace][l.worker] = true
		}
	}
	require.Len(c.t, lent, 2)
	c.t.Logf("%d processes, %d ids, none twice; worker ids lent: %v", len(c.members), tally.ids, lent)
}

// notApart shows that the harness detects the duplicates that Apart prevents.
func notApart(t *testing.T, program string, old, next place) {
	c := newCrew(t, program)
	c.open(old.taker(""))
	c.open(next.taker(""))
	require.ErrorIs(t, takeover.Apart(c.side(old.taker("1-1")), c.side(next.taker("4-7"))), takeover.ErrNotApart)
	members := append(c.start(old.order("1-1"), 1), c.start(next.order("4-7"), 4)...)
	c.goOn(10*some, members...)
	c.stop(members...)
	s := c.collect()
	require.NotEmpty(t, s.twice)
	t.Logf("%d of %d ids came twice", len(s.twice), s.ids)
}
