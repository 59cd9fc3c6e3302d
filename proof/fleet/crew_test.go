package fleet_test

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate/takeover"
	"github.com/snowlease/snowlease/proof/internal/fleet"
	"github.com/snowlease/snowlease/snowflake"
)

// layout has 32 workers and few ids a millisecond, so processes that issue at full
// speed leave no gap: two that share a millisecond share ids.
var layout = snowflake.Layout{WorkerBits: 5, SequenceBits: 5}.WithDefaults()

// limit bounds the time of each test with its processes.
const limit = 2 * time.Minute

// A crew is the processes that issue one stream of ids, from one namespace or several.
type crew struct {
	t       *testing.T
	ctx     context.Context
	program string
	order   fleet.Order // common to all processes, before changes
	dir     string
	began   time.Time
	members []*member
}

// newCrew returns a crew that has no namespace yet.
func newCrew(t *testing.T, program string) *crew {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	c := &crew{t: t, ctx: ctx, program: program, dir: t.TempDir(), began: time.Now()}
	t.Cleanup(c.dismiss)
	return c
}

// crewOn returns a crew with a namespace on a fresh database, which it opens.
func crewOn(t *testing.T, program string, e engine, cfg idworker.Config) *crew {
	t.Helper()
	c := newCrew(t, program)
	cfg.Layout = layout
	c.order = fleet.Order{Engine: e.kind, Config: cfg}
	if cfg.Mode != idworker.ModeLocal {
		c.order.Config.Namespace, c.order.DSN = namespace(), e.dsn(t)
		c.open(c.order)
	}
	return c
}

// namespace returns a name that no other test uses.
func namespace() string { return fmt.Sprintf("fleet-%d", time.Now().UnixNano()) }

// side opens the center of an order.
func (c *crew) side(order fleet.Order) takeover.Side {
	c.t.Helper()
	req, err := order.Config.Request()
	require.NoError(c.t, err)
	center, closer, err := order.Center()
	require.NoError(c.t, err)
	c.t.Cleanup(func() { require.NoError(c.t, closer.Close()) })
	return takeover.Side{Center: center, Request: req, Layout: order.Config.Layout}
}

// open opens the namespace of an order, as "snowlease init" does.
func (c *crew) open(order fleet.Order) {
	c.t.Helper()
	side := c.side(order)
	require.NoError(c.t, side.Center.Extras().Init(c.ctx, side.Request))
}

// dismiss ends the remaining processes, and lists all processes if the test failed.
func (c *crew) dismiss() {
	for _, m := range c.members {
		if c.t.Failed() {
			c.t.Log(m.brief())
		}
	}
	for _, m := range c.members {
		if m.running() {
			_ = m.cmd.Process.Kill()
		}
		<-m.ended
	}
}

// slots returns the center's records.
func (c *crew) slots() []lease.Slot {
	c.t.Helper()
	slots, err := c.side(c.order).Center.Extras().Lister.Slots(c.ctx, c.order.Config.Namespace)
	require.NoError(c.t, err)
	require.Len(c.t, slots, int(layout.Workers()))
	return slots
}

// enlist starts n processes, which then wait for begin.
func (c *crew) enlist(n int, change ...func(*fleet.Order)) []*member {
	c.t.Helper()
	var added []*member
	for range n {
		order := c.order
		for _, f := range change {
			f(&order)
		}
		order.IDs = filepath.Join(c.dir, fmt.Sprint(len(c.members)))
		m, err := launch(c.ctx, c.program, order)
		require.NoError(c.t, err)
		c.members, added = append(c.members, m), append(added, m)
		require.NoError(c.t, m.instruct(), "%v", m)
	}
	for _, m := range added {
		c.await(m.ready, m, "get ready")
		require.True(c.t, m.running(), "%v", m)
	}
	return added
}

// begin lets processes borrow worker ids, all at once.
func (c *crew) begin(members ...*member) {
	c.t.Helper()
	for _, m := range members {
		require.NoError(c.t, m.begin(), "%v", m)
	}
}

// settle waits until all processes issue ids.
func (c *crew) settle(members ...*member) {
	c.t.Helper()
	for _, m := range members {
		c.await(m.settled, m, "start")
		_, ok := m.last(fleet.Started)
		require.True(c.t, ok, "%v", m)
	}
}

// start starts n processes of an order and waits until they issue ids.
func (c *crew) start(order fleet.Order, n int) []*member {
	c.t.Helper()
	started := c.enlist(n, func(o *fleet.Order) { *o = order })
	c.begin(started...)
	c.settle(started...)
	return started
}

// refused starts a process that must be refused, and returns its report.
func (c *crew) refused(order fleet.Order) fleet.Report {
	c.t.Helper()
	order.Config.Wait = 3 * time.Second
	m := c.enlist(1, func(o *fleet.Order) { *o = order })[0]
	c.begin(m)
	c.await(m.ended, m, "end")
	r, ok := m.last(fleet.Refused)
	require.True(c.t, ok, "%v", m)
	return r
}

// kill ends processes with SIGKILL.
func (c *crew) kill(members ...*member) {
	c.t.Helper()
	c.end(syscall.SIGKILL, members)
	for _, m := range members {
		require.True(c.t, m.killed(), "%v", m)
	}
}

// stop ends processes with SIGTERM and waits for them.
func (c *crew) stop(members ...*member) {
	c.t.Helper()
	c.end(syscall.SIGTERM, members)
	for _, m := range members {
		require.True(c.t, m.cmd.ProcessState.Success(), "%v", m)
		done, ok := m.last(fleet.Done)
		require.True(c.t, ok, "%v", m)
		require.Equal(c.t, 8*done.Issued, m.size(), "%v", m)
	}
}

func (c *crew) end(sig syscall.Signal, members []*member) {
	c.t.Helper()
	for _, m := range members {
		require.True(c.t, m.running(), "%v", m)
		require.NoError(c.t, m.cmd.Process.Signal(sig), "%v", m)
	}
	for _, m := range members {
		c.await(m.ended, m, "end")
	}
}

func (c *crew) await(event <-chan struct{}, m *member, what string) {
	c.t.Helper()
	select {
	case <-event:
	case <-c.ctx.Done():
		require.FailNow(c.t, "waited too long for a process to "+what, "%v: %v", context.Cause(c.ctx), m)
	}
}

// issue waits until n ids are in the files of the processes, or of all.
func (c *crew) issue(n int64, members ...*member) {
	c.t.Helper()
	if members == nil {
		members = c.members
	}
	issued := func() (sum int64) {
		for _, m := range members {
			sum += m.size() / 8
		}
		return sum
	}
	for issued() < n {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-c.ctx.Done():
			require.FailNow(c.t, "waited too long for ids", "%d of %d are there: %v", issued(), n, context.Cause(c.ctx))
		}
	}
}

// goOn waits until each of the processes has issued n more ids.
func (c *crew) goOn(n int64, members ...*member) {
	c.t.Helper()
	for _, m := range members {
		defer c.issue(m.size()/8+n, m)
	}
}
