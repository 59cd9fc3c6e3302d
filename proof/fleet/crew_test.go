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
	"github.com/snowlease/snowlease/proof/internal/fleet"
	"github.com/snowlease/snowlease/snowflake"
)

// layout has 32 workers and few ids a millisecond, so processes that issue at full
// speed leave no gap: two that share a millisecond share ids.
var layout = snowflake.Layout{WorkerBits: 5, SequenceBits: 5}.WithDefaults()

// limit bounds the time of each test with its processes.
const limit = 2 * time.Minute

// A crew is the processes of one namespace.
type crew struct {
	t       *testing.T
	ctx     context.Context
	program string
	order   fleet.Order // common to all processes, before changes
	dir     string
	began   time.Time
	members []*member
}

// newCrew opens a new namespace on a fresh database.
func newCrew(t *testing.T, program string, e engine, cfg idworker.Config) *crew {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	cfg.Layout = layout
	c := &crew{t: t, ctx: ctx, program: program, dir: t.TempDir(), began: time.Now(), order: fleet.Order{Engine: e.kind, Config: cfg}}
	if cfg.Mode != idworker.ModeLocal {
		c.order.Config.Namespace = fmt.Sprintf("fleet-%d", time.Now().UnixNano())
		c.order.DSN = e.dsn(t)
		req, err := c.order.Config.Request()
		require.NoError(t, err)
		c.ask(func(center lease.Center) {
			require.NoError(t, center.Extras().Init(ctx, req))
		})
	}
	t.Cleanup(c.dismiss)
	return c
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

// ask calls f with the center, from the test's own process.
func (c *crew) ask(f func(lease.Center)) {
	c.t.Helper()
	center, closer, err := c.order.Center()
	require.NoError(c.t, err)
	f(center)
	require.NoError(c.t, closer.Close())
}

// slots returns the center's records.
func (c *crew) slots() (slots []lease.Slot) {
	c.t.Helper()
	c.ask(func(center lease.Center) {
		var err error
		slots, err = center.Extras().Lister.Slots(c.ctx, c.order.Config.Namespace)
		require.NoError(c.t, err)
		require.Len(c.t, slots, int(layout.Workers()))
	})
	return slots
}

// enlist starts n processes, which then wait for begin.
func (c *crew) enlist(n int, change ...func(*fleet.Order)) []*member {
	c.t.Helper()
	var added []*member
	for range n {
		order := c.order
		order.IDs = filepath.Join(c.dir, fmt.Sprint(len(c.members)))
		for _, f := range change {
			f(&order)
		}
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

// issued counts the ids in the files so far.
func (c *crew) issued() (n int64) {
	for _, m := range c.members {
		n += m.size() / 8
	}
	return n
}

// issue waits until n ids are in the files.
func (c *crew) issue(n int64) {
	c.t.Helper()
	for c.issued() < n {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-c.ctx.Done():
			require.FailNow(c.t, "waited too long for ids", "%d of %d are there: %v", c.issued(), n, context.Cause(c.ctx))
		}
	}
}
