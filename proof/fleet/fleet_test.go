package fleet_test

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/proof/internal/fleet"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// An engine is a kind of store that lends worker ids.
type engine struct {
	name string
	kind string                  // fleet.MySQL, fleet.Postgres, fleet.Redis or fleet.Etcd
	dsn  func(testing.TB) string // of a fresh database, or of a shared Redis
	// harm takes a server away, and back makes it return. It may be nil.
	harm func(wave int) (back func())
}

var engines = []engine{
	{"mariadb", fleet.MySQL, testserver.MariaDB, nil},
	{"mysql", fleet.MySQL, testserver.MySQL, nil},
	{"postgres", fleet.Postgres, testserver.Postgres, nil},
	{"redis", fleet.Redis, testserver.Redis, nil},
}

// newEtcd is an etcd whose leader is killed and stands still in turn.
func newEtcd(t *testing.T) engine {
	e := testserver.NewEtcd(t, 3)
	urls := strings.Join(e.URLs(), ",")
	return engine{"etcd", fleet.Etcd, func(testing.TB) string { return urls }, func(wave int) func() {
		leader := e.Leader()
		if wave%2 == 1 {
			leader.Pause()
			return leader.Resume
		}
		leader.Kill()
		return func() {
			leader.Start()
			e.Await(e.Nodes...)
		}
	}}
}

// build builds the program without the race detector, with which forty processes would
// be too many for a small machine.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "worker")
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // from an empty cache, on a busy machine
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-race=false", "-buildvcs=false", "-o", program, "../internal/fleet/worker").CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}

func TestFleet(t *testing.T) {
	t.Parallel()
	program := build(t)
	scenes := func(t *testing.T, e engine) {
		t.Run("stampede", func(t *testing.T) { stampede(t, program, e) })
		t.Run("killed", func(t *testing.T) { killed(t, program, e) })
		t.Run("rolling restarts", func(t *testing.T) { rolling(t, program, e) })
	}
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			scenes(t, e)
		})
	}
	t.Run("etcd", func(t *testing.T) {
		t.Parallel()
		scenes(t, newEtcd(t))
	})
	t.Run("broken", func(t *testing.T) {
		t.Parallel()
		t.Run("one worker id for all", func(t *testing.T) { oneForAll(t, program) })
		t.Run("last use forgotten", func(t *testing.T) { forgotten(t, program) })
	})
}

// stampede starts 40 processes at once on an empty database. 32 get a worker id of
// their own, and 8 an error that none is free.
func stampede(t *testing.T, program string, e engine) {
	c := crewOn(t, program, e, idworker.Config{Wait: 15 * time.Second}) // 120 processes start at once
	all := c.enlist(40, func(o *fleet.Order) { o.Limit = 1000 })
	c.begin(all...)
	var (
		holders []*member
		workers = map[int64]bool{}
		refused []fleet.Report
		soonest = int64(1) << 62 // when the first lease ends if nobody renews
		latest  int64
	)
	for _, m := range all {
		c.await(m.settled, m, "start or be refused")
		if r, ok := m.last(fleet.Refused); ok {
			require.True(t, r.NoFree, "no *lease.NoFreeWorkerError: %v", m)
			refused = append(refused, r)
			continue
		}
		started, ok := m.last(fleet.Started)
		require.True(t, ok, "%v", m)
		require.False(t, workers[started.Worker], "worker %d is held by two, also by %v", started.Worker, m)
		holders, workers[started.Worker] = append(holders, m), true
		lent, _ := m.last(fleet.Lent)
		soonest, latest = min(soonest, lent.Ceiling), max(latest, lent.Ceiling)
	}
	require.Len(t, holders, 32)
	require.Len(t, refused, 8)
	for _, r := range refused {
		require.Greater(t, r.Soonest, soonest)
		require.Greater(t, r.Soonest, r.Now)
	}
	c.stop(holders...)
	for _, m := range all {
		c.await(m.ended, m, "end")
	}
	kept := 0
	for _, s := range c.slots() {
		if s.Holder != "" {
			kept++
		}
	}
	late := 0
	for _, m := range holders {
		if done, _ := m.last(fleet.Done); done.Late {
			late++
		}
	}
	require.LessOrEqual(t, kept, late, "worker ids that were not given back")
	t.Logf("40 processes: %d workers lent within %d ms, %d refused, %d given back too late; %d ids",
		len(holders), latest-soonest, len(refused), late, c.check().ids)
}

// killed checks that the worker ids of killed processes are lent again once the leases
// have ended by the center's clock, and not before.
func killed(t *testing.T, program string, e engine) {
	c := crewOn(t, program, e, idworker.Config{Workers: "0-15", Store: idworker.StoreConfig{Skew: 500 * time.Millisecond}, Wait: time.Minute})
	// Only the leases of the killed processes are short, so no other lease ends meanwhile.
	victims := c.enlist(4, func(o *fleet.Order) {
		o.Config.Lease.TTL, o.Config.Lease.MaxTTL = 5*time.Second, lease.DefaultTTL
	})
	some := func(o *fleet.Order) { o.Limit = 20_000 }
	others := c.enlist(12, some)
	c.begin(append(victims, others...)...)
	c.settle(append(victims, others...)...)
	heirs := c.enlist(4, some)

	c.kill(victims...)
	slots := map[int64]lease.Slot{}
	records := c.slots()
	for _, m := range victims {
		loans := m.loans()
		l := loans[len(loans)-1]
		s := records[l.worker]
		require.GreaterOrEqual(t, s.Mark, l.ceiling, "%v", m)
		slots[l.worker] = s
	}
	require.Len(t, slots, 4)
	first := slices.MinFunc(records[:16], func(a, b lease.Slot) int { return cmp.Compare(a.Expires, b.Expires) }).Expires

	c.begin(heirs...)
	c.settle(heirs...)
	early := 0
	for _, m := range heirs {
		for _, full := range m.all(fleet.Full) {
			require.Greater(t, full.Soonest, first, "%v", m)
			if full.Now <= first {
				early++
			}
		}
		lent, _ := m.last(fleet.Lent)
		s, ok := slots[lent.Worker]
		require.True(t, ok, "it got the worker id of a process that lives, or of another heir: %v", m)
		delete(slots, lent.Worker)
		require.Greater(t, lent.Now, s.Expires, "%v", m)
		require.GreaterOrEqual(t, lent.Floor, s.Mark, "%v", m)
		require.Greater(t, lent.Token, s.Token, "%v", m)
	}
	require.Positive(t, early, "nobody asked while the leases of the killed ran")
	c.stop(append(heirs, others...)...)
	t.Logf("4 of 16 killed, their leases ran for %d ms from then; 4 heirs, %d times refused before the end; %d ids",
		first-records[0].Now, early, c.check().ids)
}

// rolling replaces processes that issue ids at full speed one after the other, half of
// them by SIGKILL, on a pool that is nearly full. Meanwhile another one stands still for
// longer than its lease, and at times a server is away.
func rolling(t *testing.T, program string, e engine) {
	const (
		alive = 15
		wave  = 5
		ids   = 2_000_000
	)
	c := crewOn(t, program, e, idworker.Config{
		Workers: "0-15",
		Lease:   idworker.LeaseConfig{TTL: 2 * time.Second, MaxTTL: 2 * time.Second}, Store: idworker.StoreConfig{Skew: 200 * time.Millisecond}, Wait: time.Minute,
	})
	serving := c.enlist(alive)
	c.begin(serving...)
	c.settle(serving...)
	kills := 0
	for at := 0; at < alive; at += wave {
		next, old, still := c.enlist(wave), serving[at:at+wave], serving[(at+wave)%alive]
		require.NoError(t, still.cmd.Process.Signal(syscall.SIGSTOP))
		c.begin(next...)
		back := func() {}
		if e.harm != nil {
			back = e.harm(at / wave)
		}
		kills += wave / 2
		c.kill(old[:wave/2]...)
		c.stop(old[wave/2:]...)
		back()
		c.settle(next...)
		require.NoError(t, still.cmd.Process.Signal(syscall.SIGCONT))
		copy(old, next)
	}
	c.issue(ids)
	c.stop(serving...)
	s := c.check()
	require.GreaterOrEqual(t, s.ids, int64(ids))
	losses := int64(0)
	for _, m := range c.members {
		done, _ := m.last(fleet.Done)
		losses += done.Losses
	}
	t.Logf("%d processes, %d killed, %d leases lost; %d ids, none twice", len(c.members), kills, losses, s.ids)
}

// oneForAll shows that the harness detects duplicate ids.
func oneForAll(t *testing.T, program string) {
	worker := int64(1)
	c := crewOn(t, program, engine{}, idworker.Config{Mode: idworker.ModeLocal, Local: hostseq.Config{Worker: &worker, Stateless: true}})
	all := c.enlist(3)
	c.begin(all...)
	c.settle(all...)
	c.issue(100_000)
	c.stop(all...)
	s := c.collect()
	require.NotEmpty(t, s.twice)
	t.Logf("3 processes as worker 1: %d of %d ids were issued twice", len(s.twice), s.ids)
}

// forgotten shows that the harness detects the effect of one protocol error: the last
// use is not reported, so the next holder starts too early.
func forgotten(t *testing.T, program string) {
	e := engines[slices.IndexFunc(engines, func(e engine) bool { return e.kind == fleet.Redis })]
	c := crewOn(t, program, e, idworker.Config{Workers: "0-3"})
	forget := func(o *fleet.Order) { o.Forget = true }
	former, next := c.enlist(4, forget), c.enlist(4, forget)
	c.begin(former...)
	c.settle(former...)
	c.issue(200_000)
	c.stop(former...)
	c.begin(next...)
	c.settle(next...)
	c.issue(300_000)
	c.stop(next...)
	s := c.collect()
	require.NotEmpty(t, s.twice)
	t.Logf("4 processes after 4: %d of %d ids were issued twice", len(s.twice), s.ids)
}
