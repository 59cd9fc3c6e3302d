package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/internal/takeover"
	testlimit "github.com/snowlease/snowlease/internal/test/limit"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
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
	store
	namespace string
	layout    snowflake.Layout
}

// request asks for the worker ids from first to last; a last of 0 stands for that of the layout.
func (p place) request(first, last int64) lease.Request {
	r := memcenter.NewRequest(p.namespace, p.layout)
	// A process that lives keeps its lease on a busy machine: only then a takeover must be refused.
	r.TTL, r.MaxTTL, r.Skew, r.First = 3*ttl, 30*time.Second, 200*time.Millisecond, first
	if last > 0 {
		r.Last = last
	}
	return r
}

// A moving is a service that moves from one place to another.
type moving struct {
	*testing.T
	*crew
	ctx    context.Context
	orders []order // by seat
}

func newMoving(t *testing.T) *moving {
	m := &moving{T: t, ctx: testlimit.Context(t)}
	m.crew = newCrew(t.TempDir(), 24, 1, order{Request: request()}, func(int) store { return store{} }, 0)
	m.brief = func(s *seat, o *order) {
		to := m.orders[s.index]
		o.Store, o.Request, o.Layout, o.Request.Holder = to.Store, to.Request, to.Layout, s.holder
	}
	t.Cleanup(m.end)
	return m
}

// side opens the center of a place, whose leases must outlast a slow machine.
func (m *moving) side(p place, first, last int64) takeover.Side {
	m.Helper()
	center, closer, err := p.center("")
	require.NoError(m, err)
	m.Cleanup(func() { require.NoError(m, closer.Close()) })
	req := p.request(first, last)
	req.TTL, req.Owner = req.MaxTTL, lease.NewOwner()
	return takeover.Side{Center: center, Request: req, Layout: p.layout}
}

// open opens the namespace of a place, as "snowlease init" does.
func (m *moving) open(p place) error {
	side := m.side(p, 0, 0)
	return side.Center.Extras().Init(m.ctx, side.Request)
}

// refused requires that a process would be refused, and returns why.
func (m *moving) refused(p place) string {
	m.Helper()
	side := m.side(p, 0, 0)
	_, err := side.Center.Acquire(m.ctx, side.Request)
	require.ErrorAs(m, err, new(*lease.MismatchError))
	return err.Error()
}

// start starts n processes and waits until they hold worker ids.
func (m *moving) start(p place, first, last int64, n int) (started []*process) {
	m.Helper()
	for range n {
		s := &m.seats[len(m.orders)]
		m.orders = append(m.orders, order{Calm: true, Store: p.store, Request: p.request(first, last), Layout: p.layout})
		require.NoError(m, m.fill(s))
		started = append(started, s.process)
	}
	m.until("hold a worker id", started, func(p *process) bool { return p.worker.Load() >= 0 })
	return started
}

// until waits until all processes are so.
func (m *moving) until(what string, all []*process, so func(*process) bool) {
	m.Helper()
	for slices.ContainsFunc(all, func(p *process) bool { return !so(p) }) {
		pause(m.ctx, 10*time.Millisecond)
		require.NoError(m, m.ctx.Err(), "waited too long for processes to %s", what)
		require.NoError(m, m.failed(nil))
	}
}

// goOn waits until each process has issued n more ids.
func (m *moving) goOn(n int64, all ...*process) {
	m.Helper()
	before := map[*process]int64{}
	for _, p := range all {
		before[p] = p.ids.Load()
	}
	m.until("issue ids", all, func(p *process) bool { return p.ids.Load() >= before[p]+n })
}

func (m *moving) stop(all ...*process) {
	m.Helper()
	require.NoError(m, onEach(all, func(p *process) error { return p.release(20 * time.Second) }))
}

// live requires that worker ids cannot be handed over, because an old process may still use one.
func (m *moving) live(err error) {
	m.Helper()
	live := (*takeover.LiveError)(nil)
	require.ErrorAs(m, err, &live)
	require.Equal(m, "old", live.Side)
	require.NotEmpty(m, live.Holder)
}

// take hands the worker ids of from over to those of to, as soon as the leases of killed
// processes have expired. Their next holders start above all ids of the old side.
func (m *moving) take(from, to takeover.Side, retires bool) {
	m.Helper()
	r, err := takeover.Take(m.ctx, from, to)
	for ; err != nil; r, err = takeover.Take(m.ctx, from, to) {
		m.live(err)
		pause(m.ctx, 20*time.Millisecond)
	}
	greatest := int64(0)
	for _, p := range m.everybody() {
		if p.Request.Namespace != from.Request.Namespace {
			continue
		}
		all, err := p.entries()
		require.NoError(m, err)
		for _, e := range all {
			parts, err := from.Layout.Decode(e.first)
			if e.kind == runOf && parts.Worker >= from.Request.First && parts.Worker <= from.Request.Last {
				require.NoError(m, err)
				greatest = max(greatest, parts.Time.UnixMilli())
			}
		}
	}
	require.True(m, greatest > 0 || !retires)
	require.GreaterOrEqual(m, r.Mark, greatest, "no old id lies above the mark")
	require.Equal(m, retires, r.Retired)
	slots, err := to.Center.Extras().Lister.Slots(m.ctx, to.Request.Namespace)
	require.NoError(m, err)
	for _, slot := range slots[to.Request.First : to.Request.Last+1] {
		require.GreaterOrEqual(m, slot.HighWater, r.Mark)
	}
}

// judge judges what all have issued.
func (m *moving) judge() *verdict {
	m.Helper()
	v, err := judge(m.everybody())
	require.NoError(m, errors.Join(err, m.failed(nil)))
	m.Logf("%d processes, %d ids, %d twice", v.processes, v.ids, v.duplicates)
	return v
}

// TestMoving checks that a service can move to more worker ids, another center or another
// database while it issues ids. It follows the steps of docs/upgrade.md and checks that each
// step refuses to run too early.
func TestMoving(t *testing.T) {
	t.Parallel()
	on := func(t *testing.T, kind string, l snowflake.Layout) place {
		p := place{store{Kind: kind}, fmt.Sprintf("moving-%d", time.Now().UnixNano()), l}
		switch kind {
		case single:
			p.Addrs = []string{testserver.Redis(t)}
		case mysqlKind:
			p.DSN = testserver.MySQL(t)
		case postgre:
			p.DSN = testserver.Postgres(t)
		}
		return p
	}
	wider := func(p place) place {
		p.namespace, p.layout = p.namespace+"-2", wide
		return p
	}
	for _, kind := range []string{mysqlKind, postgre, single} {
		t.Run("more worker bits/"+kind, func(t *testing.T) {
			t.Parallel()
			old := on(t, kind, narrow)
			newMoving(t).grow(old, wider(old))
		})
	}
	for name, kinds := range map[string][2]string{
		"from MySQL to Redis":                   {mysqlKind, single},
		"from Redis to PostgreSQL":              {single, postgre},
		"from PostgreSQL to another PostgreSQL": {postgre, postgre},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newMoving(t).move(on(t, kinds[0], usual), on(t, kinds[1], usual))
		})
	}
	t.Run("broken/worker ids that are not apart", func(t *testing.T) { // Apart prevents these duplicates
		t.Parallel()
		m, old := newMoving(t), on(t, single, narrow)
		next := wider(old)
		require.NoError(t, errors.Join(m.open(old), m.open(next)))
		require.ErrorIs(t, takeover.Apart(m.side(old, 1, 1), m.side(next, 4, 7)), takeover.ErrNotApart)
		all := append(m.start(old, 1, 1, 1), m.start(next, 4, 7, 4)...)
		m.goOn(10*some, all...)
		m.stop(all...)
		require.Positive(t, m.judge().duplicates)
	})
}

// grow moves a namespace from eight worker ids to thirty-two while the service issues ids.
func (m *moving) grow(old, next place) {
	require.NoError(m, m.open(old))
	serving := m.start(old, 0, 0, 2)

	// The new layout is refused in the old namespace, and a second Init of the new one fails.
	wrong := next
	wrong.namespace = old.namespace
	require.Contains(m, m.refused(wrong), "is pinned to layout={"+narrow.String())
	require.NoError(m, m.open(next))
	require.ErrorIs(m, m.open(next), lease.ErrExists)

	// Old processes keep half of their worker ids. New ones get worker ids that do not
	// share these bits.
	halved := m.start(old, 0, 3, 1)
	m.stop(serving[0])
	halved = append(halved, m.start(old, 0, 3, 1)...)
	m.stop(serving[1])
	kept := m.side(old, 0, 3)
	require.ErrorIs(m, takeover.Apart(kept, m.side(next, 0, 0)), takeover.ErrNotApart)
	require.ErrorIs(m, takeover.Apart(kept, m.side(next, 15, 31)), takeover.ErrNotApart)
	above := m.side(next, 16, 31)
	require.NoError(m, takeover.Apart(kept, above))
	m.take(m.side(old, 4, 7), above, false) // above what the old processes did with the others
	moved := m.start(next, 16, 31, 3)
	m.goOn(some, append(halved, moved...)...)

	// It is too early to hand over the rest while an old process runs.
	all, rest := m.side(old, 0, 0), m.side(next, 0, 15)
	_, err := takeover.Take(m.ctx, all, rest)
	m.live(err)
	require.NoError(m, halved[0].kill())
	m.stop(halved[1])
	m.take(all, rest, true)

	// An old process that is started later is refused.
	require.Contains(m, m.refused(old), fmt.Sprintf("is retired: its worker ids were taken over by namespace %q", next.namespace))
	moved = append(moved, m.start(next, 0, 0, 6)...)
	m.goOn(some, moved...)
	require.NoError(m, migrate.Follows(next.layout, old.layout, time.Now()))
	m.stop(moved...)
	require.True(m, m.judge().sound())
}

// move moves one process after the other to another center, and finally all worker ids.
func (m *moving) move(old, next place) {
	const processes = 4
	require.NoError(m, errors.Join(m.open(old), m.open(next)))
	upper := m.side(next, 16, 31)
	require.ErrorIs(m, takeover.Apart(m.side(old, 0, 0), upper), takeover.ErrNotApart)
	require.NoError(m, takeover.Apart(m.side(old, 0, 15), upper))
	before := m.start(old, 16, 31, processes)
	m.goOn(some, before...)
	serving := m.start(old, 0, 15, processes)
	_, err := takeover.Take(m.ctx, m.side(old, 16, 31), upper) // too early
	m.live(err)
	m.stop(before[1:]...)
	require.NoError(m, before[0].kill())
	m.take(m.side(old, 16, 31), upper, false)
	for i, p := range serving {
		m.goOn(some, serving...)
		serving[i] = m.start(next, 16, 31, 1)[0]
		if i == processes-1 {
			_, err := takeover.Take(m.ctx, m.side(old, 0, 0), m.side(next, 0, 15))
			m.live(err)
		}
		if i%2 == 1 {
			require.NoError(m, p.kill())
		} else {
			m.stop(p)
		}
	}
	m.goOn(some, serving...)
	m.take(m.side(old, 0, 0), m.side(next, 0, 15), true)
	serving = append(serving, m.start(next, 0, 0, processes)...)
	m.goOn(some, serving...)
	m.stop(serving...)
	require.True(m, m.judge().sound())
}
