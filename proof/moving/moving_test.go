package moving_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/migrate"
	"github.com/snowlease/snowlease/migrate/takeover"
	"github.com/snowlease/snowlease/proof/internal/fleet"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// These layouts have few ids a millisecond, so processes that issue at full speed
// leave no gap: two that share a millisecond share ids. narrow and wide divide the
// same bits differently.
var (
	narrow = snowflake.Layout{TimeBits: 41, WorkerBits: 3, SequenceBits: 4}.WithDefaults()
	wide   = snowflake.Layout{TimeBits: 41, WorkerBits: 5, SequenceBits: 2}.WithDefaults()
	usual  = snowflake.Layout{TimeBits: 41, WorkerBits: 5, SequenceBits: 3}.WithDefaults()
)

// some is how many ids each process issues between two steps.
const some = 2000

func TestMoving(t *testing.T) {
	program := filepath.Join(t.TempDir(), "worker")
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // from an empty cache, on a busy machine
	defer cancel()
	out, err := exec.CommandContext(ctx, "go", "build", "-race=false", "-buildvcs=false", "-o", program, "../internal/fleet/worker").CombinedOutput()
	require.NoError(t, err, "%s", out)

	engines := map[string]func(testing.TB) string{fleet.MySQL: testserver.MySQL, fleet.Postgres: testserver.Postgres, fleet.Redis: testserver.Redis}
	namespace := func(suffix string) string { return fmt.Sprintf("moving-%d%s", time.Now().UnixNano(), suffix) }
	t.Run("more worker bits", func(t *testing.T) {
		t.Parallel()
		for engine, dsn := range engines {
			t.Run(engine, func(t *testing.T) {
				t.Parallel()
				old := place{engine, dsn(t), namespace(""), narrow}
				next := old
				next.namespace, next.layout = old.namespace+"-2", wide
				grow(t, program, old, next)
			})
		}
	})
	t.Run("from MySQL to Redis", func(t *testing.T) {
		t.Parallel()
		move(t, program,
			place{fleet.MySQL, testserver.MySQL(t), namespace(""), usual},
			place{fleet.Redis, testserver.Redis(t), namespace(""), usual})
	})
	t.Run("from Redis to PostgreSQL", func(t *testing.T) {
		t.Parallel()
		move(t, program,
			place{fleet.Redis, testserver.Redis(t), namespace(""), usual},
			place{fleet.Postgres, testserver.Postgres(t), namespace(""), usual})
	})
	t.Run("from PostgreSQL to another PostgreSQL", func(t *testing.T) {
		t.Parallel()
		move(t, program,
			place{fleet.Postgres, testserver.Postgres(t), namespace("a"), usual},
			place{fleet.Postgres, testserver.Postgres(t), namespace("b"), usual})
	})
	t.Run("broken", func(t *testing.T) {
		t.Parallel()
		t.Run("worker ids that are not apart", func(t *testing.T) {
			old := place{fleet.Redis, testserver.Redis(t), namespace(""), narrow}
			next := old
			next.namespace, next.layout = old.namespace+"-2", wide
			notApart(t, program, old, next)
		})
	})
}

// grow moves a namespace from eight worker ids to thirty-two while the service issues ids.
func grow(t *testing.T, program string, old, next place) {
	s := newService(t, program)
	s.open(old)
	serving := s.start(old.order(""), 2)

	// The new layout is refused in the old namespace, and a second Init of the new one fails.
	wrong := next
	wrong.namespace = old.namespace
	require.Contains(t, s.refused(wrong.order("")).Error, "is pinned to layout={"+narrow.String())
	s.open(next)
	again := s.side(next, "")
	require.ErrorIs(t, again.Center.Extras().Init(s.ctx, again.Request), lease.ErrExists)

	// Old processes keep half of their worker ids. New ones get worker ids that do not
	// share these bits.
	halved := s.start(old.order("0-3"), 1)
	s.end(syscall.SIGTERM, serving[0])
	halved = append(halved, s.start(old.order("0-3"), 1)...)
	s.end(syscall.SIGTERM, serving[1])
	require.ErrorIs(t, takeover.Apart(s.side(old, "0-3"), s.side(next, "")), takeover.ErrNotApart)
	require.ErrorIs(t, takeover.Apart(s.side(old, "0-3"), s.side(next, "15-31")), takeover.ErrNotApart)
	require.NoError(t, takeover.Apart(s.side(old, "0-3"), s.side(next, "16-31")))
	s.take(old, "4-7", next, "16-31") // above what the old processes did with the others
	moved := s.start(next.order("16-31"), 3)
	s.issue(some, append(halved, moved...)...)

	// It is too early to hand over the rest while an old process runs.
	_, err := takeover.Take(s.ctx, s.side(old, ""), s.side(next, "0-15"))
	live := (*takeover.LiveError)(nil)
	require.ErrorAs(t, err, &live)
	require.Equal(t, "old", live.Side)
	require.NotEmpty(t, live.Holder)
	s.end(syscall.SIGKILL, halved[0])
	s.end(syscall.SIGTERM, halved[1])
	s.take(old, "", next, "0-15")

	// An old process that is started later is refused, however long it waits.
	late := old.order("")
	refused := s.refused(late)
	require.Contains(t, refused.Error, fmt.Sprintf("is retired: its worker ids were taken over by namespace %q", next.namespace))
	all := s.start(next.order(""), 6)
	s.issue(some, append(all, moved...)...)
	require.NoError(t, migrate.Follows(next.layout, old.layout, time.Now()))
	s.end(syscall.SIGTERM, append(all, moved...)...)
	s.unique()
}

// move moves one process after the other to another center, and finally all worker ids.
func move(t *testing.T, program string, old, next place) {
	const processes = 4
	s := newService(t, program)
	s.open(old)
	s.open(next)
	require.ErrorIs(t, takeover.Apart(s.side(old, ""), s.side(next, "16-31")), takeover.ErrNotApart)
	require.NoError(t, takeover.Apart(s.side(old, "0-15"), s.side(next, "16-31")))
	before := s.start(old.order("16-31"), processes)
	s.issue(some, before...)
	serving := s.start(old.order("0-15"), processes)
	_, err := takeover.Take(s.ctx, s.side(old, "16-31"), s.side(next, "16-31"))
	live := (*takeover.LiveError)(nil)
	require.ErrorAs(t, err, &live, "it is too early")
	s.end(syscall.SIGTERM, before[1:]...)
	s.end(syscall.SIGKILL, before[0])
	s.take(old, "16-31", next, "16-31")
	for i, m := range serving {
		s.issue(some, serving...)
		serving[i] = s.start(next.order("16-31"), 1)[0]
		if i == processes-1 {
			_, err := takeover.Take(s.ctx, s.side(old, ""), s.side(next, "0-15"))
			require.ErrorAs(t, err, &live)
		}
		sig := syscall.SIGTERM
		if i%2 == 1 {
			sig = syscall.SIGKILL
		}
		s.end(sig, m)
	}
	s.issue(some, serving...)
	s.take(old, "", next, "0-15")
	all := s.start(next.order(""), processes)
	s.issue(some, append(all, serving...)...)
	s.end(syscall.SIGTERM, append(all, serving...)...)
	s.unique()
}

// take hands worker ids over as soon as the leases of killed processes have expired.
// Their next holders start above all ids of the old side.
func (s *service) take(old place, oldWorkers string, next place, workers string) {
	s.t.Helper()
	from, to := s.side(old, oldWorkers), s.side(next, workers)
	r, err := takeover.Take(s.ctx, from, to)
	for live := (*takeover.LiveError)(nil); err != nil; r, err = takeover.Take(s.ctx, from, to) {
		require.ErrorAs(s.t, err, &live)
		require.Equal(s.t, "old", live.Side)
		select {
		case <-time.After(20 * time.Millisecond):
		case <-s.ctx.Done():
			require.NoError(s.t, err)
		}
	}
	greatest := int64(0)
	for _, m := range s.members {
		if m.order.Config.Namespace != old.namespace || m.order.DSN != old.dsn {
			continue
		}
		for _, id := range m.ids(s.t) {
			p, err := old.layout.Decode(id)
			require.NoError(s.t, err)
			if p.Worker >= from.Request.First && p.Worker <= from.Request.Last {
				greatest = max(greatest, p.Time.UnixMilli())
			}
		}
	}
	require.GreaterOrEqual(s.t, r.Mark, greatest, "no old id lies above the mark")
	require.GreaterOrEqual(s.t, r.Floor, r.Mark)
	require.Equal(s.t, oldWorkers == "", r.Retired)
	slots, err := to.Center.Extras().Lister.Slots(s.ctx, next.namespace)
	require.NoError(s.t, err)
	for _, slot := range slots[to.Request.First : to.Request.Last+1] {
		require.GreaterOrEqual(s.t, slot.Mark, r.Mark)
	}
}

// unique requires of processes that have ended that no id was issued twice, and that
// both namespaces lent worker ids.
func (s *service) unique() {
	s.t.Helper()
	all, twice := s.ids()
	require.Zero(s.t, twice, "of %d ids", len(all))
	places := map[string]map[int64]bool{}
	for _, m := range s.members {
		for _, g := range m.lent() {
			if places[m.order.Config.Namespace] == nil {
				places[m.order.Config.Namespace] = map[int64]bool{}
			}
			places[m.order.Config.Namespace][g.Worker] = true
		}
	}
	require.Len(s.t, places, 2)
	s.t.Logf("%d processes, %d ids, none twice; worker ids lent: %v", len(s.members), len(all), places)
}

// notApart shows that the harness detects the duplicates that Apart prevents.
func notApart(t *testing.T, program string, old, next place) {
	s := newService(t, program)
	s.open(old)
	s.open(next)
	require.ErrorIs(t, takeover.Apart(s.side(old, "1-1"), s.side(next, "4-7")), takeover.ErrNotApart)
	members := append(s.start(old.order("1-1"), 1), s.start(next.order("4-7"), 4)...)
	s.issue(10*some, members...)
	s.end(syscall.SIGTERM, members...)
	all, twice := s.ids()
	require.Positive(t, twice)
	t.Logf("%d of %d ids came twice", twice, len(all))
}
