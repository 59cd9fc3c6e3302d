package hostseq

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A site is a host: a directory and a clock that the test sets.
type site struct {
	*testing.T
	dir    string
	ms     atomic.Int64
	layout snowflake.Layout
}

func newSite(t *testing.T) *site {
	s := &site{T: t, dir: ownDir(t), layout: narrow}
	s.ms.Store(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC).UnixMilli())
	return s
}

func (s *site) pass(d time.Duration) { s.ms.Add(d.Milliseconds()) }

// center returns the center of another process.
func (s *site) center(change ...func(*Config)) *center {
	s.Helper()
	cfg := Config{Dir: s.dir}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg, s.layout, WithClock(func() time.Time { return time.UnixMilli(s.ms.Load()) }))
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, c.Close()) })
	return c.(*center)
}

func byHand(n int64) func(*Config) { return func(c *Config) { c.Worker = &n } }

func stateless(c *Config) { c.Stateless, c.Dir = true, "" }

func (s *site) request() lease.Request {
	req := memcenter.NewRequest("orders", s.layout)
	req.Owner, req.Holder = lease.NewOwner(), "shop"
	return req
}

func (s *site) acquire(c *center) lease.Grant {
	s.Helper()
	req := s.request()
	g, err := c.Acquire(s.Context(), req)
	if until := (*lease.QuarantineError)(nil); errors.As(err, &until) && c.dir == "" {
		s.ms.Store(until.Until.UnixMilli())
		g, err = c.Acquire(s.Context(), req)
	}
	require.NoError(s, err)
	require.Equal(s, req, g.Request)
	require.GreaterOrEqual(s, g.Floor, g.Now-1)
	require.Equal(s, max(g.Now, g.Floor)+req.TTL.Milliseconds(), g.Ceiling)
	require.Equal(s, g.Now, g.Since)
	return g
}

func (s *site) mark(w int64) int64 {
	s.Helper()
	slots, err := s.center().Extras().Lister.Slots(s.Context(), "orders")
	require.NoError(s, err)
	for _, slot := range slots {
		if slot.Worker == w {
			return slot.HighWater
		}
	}
	return -1
}

const ahead = 1000 // ms, generator.DefaultMaxAhead

func TestGrant(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	g := s.acquire(c)
	require.Equal(t, int64(2), g.Worker)
	require.Equal(t, s.ms.Load(), g.Now)
	require.Equal(t, g.Now-1+ahead, g.Floor, "what a predecessor may have used is not known")
	require.Equal(t, g.Ceiling, s.mark(2), "on record before it is used")

	// The same owner gets the same grant again, later.
	s.pass(500 * time.Millisecond)
	again, err := c.Acquire(t.Context(), g.Request)
	require.NoError(t, err)
	want := g
	want.Now += 500
	require.Equal(t, want, again)

	s.pass(10 * time.Second)
	renewed, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	want.Now += 10_000
	want.Ceiling = want.Now + g.TTL.Milliseconds()
	require.Equal(t, want, renewed)
	require.Equal(t, renewed.Ceiling, s.mark(2))
	shorter := renewed
	shorter.TTL = 10 * time.Second
	kept, err := c.Renew(t.Context(), shorter)
	require.NoError(t, err)
	require.Equal(t, renewed.Ceiling, kept.Ceiling, "a renewal lowers no ceiling")

	require.NoError(t, c.Release(t.Context(), renewed, renewed.Now+3))
	require.Equal(t, renewed.Now+3, s.mark(2))
	_, err = c.Renew(t.Context(), renewed)
	require.ErrorIs(t, err, lease.ErrLost)
	require.ErrorIs(t, c.Release(t.Context(), renewed, math.MaxInt64), lease.ErrLost)
	require.Equal(t, renewed.Now+3, s.mark(2))

	next := s.acquire(s.center(byHand(2)))
	require.Equal(t, renewed.Now+3, next.Floor, "above what was used")
	require.Equal(t, g.Token+1, next.Token)
}

func TestReleaseKeepsTheMarkWithinTheGrant(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	for _, last := range []int64{0, -1, math.MinInt64} {
		s.pass(time.Hour)
		g := s.acquire(c)
		require.NoError(t, c.Release(t.Context(), g, last))
		require.Equal(t, g.Floor, s.mark(2))
	}
	g := s.acquire(c)
	require.NoError(t, c.Release(t.Context(), g, math.MaxInt64))
	require.Equal(t, g.Ceiling, s.mark(2))
}

func TestFenced(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center()
	g, other := s.acquire(c), s.acquire(c)
	for name, forge := range map[string]func(*lease.Grant){
		"owner":     func(g *lease.Grant) { g.Owner = lease.NewOwner() },
		"token":     func(g *lease.Grant) { g.Token++ },
		"worker":    func(g *lease.Grant) { g.Worker = other.Worker },
		"namespace": func(g *lease.Grant) { g.Namespace = "other" },
	} {
		forged := g
		forge(&forged)
		_, err := c.Renew(t.Context(), forged)
		require.ErrorIs(t, err, lease.ErrLost, name)
		require.ErrorIs(t, c.Release(t.Context(), forged, 0), lease.ErrLost, name)
	}
	_, err := s.center().Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost, "a lock is that of one process")
	_, err = c.Renew(t.Context(), g)
	require.NoError(t, err)
	bad := g
	bad.Namespace = "a/b"
	_, err = c.Acquire(t.Context(), bad.Request)
	require.ErrorContains(t, err, "a/b")
	_, err = c.Renew(t.Context(), bad)
	require.ErrorContains(t, err, "a/b")
	require.ErrorContains(t, c.Release(t.Context(), bad, 0), "a/b")
}

func TestSlotsOfAHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center()
	g := s.acquire(c)
	require.NoError(t, c.Release(t.Context(), g, g.Floor))
	s.pass(time.Minute)
	require.Equal(t, g.Worker, s.acquire(c).Worker, "no new file while there is a free one")
	require.NoError(t, c.Close())

	s = newSite(t)
	var grants []lease.Grant
	var centers []*center
	for range 4 {
		c := s.center()
		centers, grants = append(centers, c), append(grants, s.acquire(c))
		s.pass(time.Second)
	}
	_, err := s.center().Acquire(t.Context(), s.request())
	var full *lease.NoFreeWorkerError
	require.ErrorAs(t, err, &full)
	require.Equal(t, []int64{0, 3}, []int64{full.First, full.Last})
	require.Equal(t, grants[0].Ceiling+1, full.Soonest.UnixMilli(), "if it is not renewed")

	// The least recently used first, and none ahead of the clock while others are not.
	s.pass(time.Minute)
	for _, i := range []int{2, 0, 3} {
		require.NoError(t, centers[i].Release(t.Context(), grants[i], grants[i].Floor+int64(100*i)))
	}
	require.NoError(t, centers[1].Close()) // it has crashed, a minute ago
	for _, i := range []int{0, 2, 3, 1} {
		require.Equal(t, grants[i].Worker, s.acquire(s.center()).Worker, "%d", i)
	}
}

func TestCrashedSlotIsTheLastToBeTaken(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center()
	crashed := s.acquire(c)
	require.NoError(t, c.Close())
	for range 3 {
		require.NotEqual(t, crashed.Worker, s.acquire(s.center()).Worker)
	}
	g := s.acquire(s.center())
	require.Equal(t, crashed.Worker, g.Worker)
	require.Equal(t, crashed.Ceiling, g.Floor, "at once, and above all that it may have used")
}

func TestHashesShareNoneInADirectory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	seen := map[int64]bool{}
	hashed := func(c *Config) { c.Source = Hash }
	for range 4 {
		seen[s.acquire(s.center(hashed)).Worker] = true
	}
	require.Len(t, seen, 4)
	_, err := s.center(hashed).Acquire(t.Context(), s.request())
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	// Without the directory, each takes its own, even if another has the same.
	alone := func(c *Config) { hashed(c); stateless(c) }
	require.Equal(t, s.acquire(s.center(alone)).Worker, s.acquire(s.center(alone)).Worker)
}

func TestHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, change := range []func(*Config){byHand(2), func(c *Config) { byHand(3)(c); stateless(c) }} {
		c := s.center(change)
		g := s.acquire(c)
		for _, rival := range []*center{c, s.center(change)} {
			if c.dir == "" && rival != c {
				s.acquire(rival) // nothing is kept, so nothing is seen of others
				continue
			}
			_, err := rival.Acquire(t.Context(), s.request())
			require.ErrorIs(t, err, ErrHeld)
			require.NotErrorIs(t, err, lease.ErrSetup, "it may be given back soon")
			require.ErrorContains(t, err, `"shop"`)
		}
		require.NoError(t, c.Release(t.Context(), g, 0))
		s.acquire(c)
	}
}

func TestClockBehind(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	g := s.acquire(c)
	require.NoError(t, c.Close())
	bound := DefaultMaxBehind + g.MaxTTL
	s.ms.Store(g.Ceiling - bound.Milliseconds() - 1)
	_, err := s.center(byHand(2)).Acquire(t.Context(), s.request())
	require.ErrorIs(t, err, ErrClockBehind)
	require.ErrorContains(t, err, "5m30.001s after")
	require.NotErrorIs(t, err, lease.ErrSetup, "the clock may be set right soon")
	s.ms.Store(-1 << 60)
	_, err = s.center(byHand(2)).Acquire(t.Context(), s.request())
	require.ErrorIs(t, err, ErrClockBehind, "however far")
	s.ms.Store(g.Ceiling - bound.Milliseconds() - 1)
	_, err = s.center(func(c *Config) { c.MaxBehind = time.Second }).Acquire(t.Context(), s.request())
	require.NoError(t, err, "another slot is taken")
	s.pass(time.Millisecond)
	next := s.acquire(s.center(byHand(2)))
	require.Equal(t, g.Ceiling, next.Floor)

	// The clock is right, but a process with a longer lease has crashed.
	s = newSite(t)
	long := s.request()
	long.TTL, long.MaxTTL = time.Hour, time.Hour
	c = s.center(byHand(2))
	_, err = c.Acquire(t.Context(), long)
	require.NoError(t, errors.Join(err, c.Close()))
	_, err = s.center(byHand(2)).Acquire(t.Context(), s.request())
	require.ErrorContains(t, err, "a greater lease.ttl or lease.max_ttl may have leased the worker id: start with that value")
	long.TTL = s.request().TTL
	_, err = s.center(byHand(2)).Acquire(t.Context(), long)
	require.NoError(t, err)
}

// A clock that is set back while the worker id is held does not affect the lease.
// TestCenterSetBack of package generator shows what the generator does then.
func TestClockSetBackWhileHeld(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	g := s.acquire(c)
	s.pass(10 * time.Second)
	g, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	s.pass(-10 * time.Second)
	set, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, s.ms.Load(), set.Now)
	require.Equal(t, []int64{g.Floor, g.Ceiling}, []int64{set.Floor, set.Ceiling})
}

func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	damages := map[string]func(b []byte) []byte{
		"empty":     func([]byte) []byte { return nil },
		"half new":  func(b []byte) []byte { return append(b[:256:256], record{Worker: 2}.encode()[256:]...) },
		"another's": func([]byte) []byte { return record{Worker: 3}.encode() },
		"of another version": func(b []byte) []byte {
			b = append([]byte("another "), b[8:recordSize-4]...)
			return binary.BigEndian.AppendUint32(b, sum(b))
		},
		"beyond": func([]byte) []byte { return record{Worker: 2, Token: maxNumber, Mark: 1}.encode() },
	}
	for name, damage := range damages {
		s := newSite(t)
		c := s.center(byHand(2))
		require.NoError(t, c.Release(t.Context(), s.acquire(c), 0))
		path := filepath.Join(s.dir, "orders.2.slot")
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, damage(b), 0o600))
		_, err = c.Acquire(t.Context(), s.request())
		require.ErrorIs(t, err, lease.ErrDamaged, name)
		require.ErrorIs(t, err, lease.ErrSetup, name)
		require.ErrorContains(t, err, "delete the file", name)
		require.ErrorContains(t, err, path, name)
		require.Equal(t, int64(-1), s.mark(2), "not shown as anything")
		// Source lock takes another worker id.
		for range 3 {
			require.NotEqual(t, int64(2), s.acquire(s.center()).Worker, name)
		}
		_, err = s.center().Acquire(t.Context(), s.request())
		require.ErrorIs(t, err, lease.ErrDamaged, name)
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError), name)
	}
}

func TestPin(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center()
	g := s.acquire(c)
	for name, differ := range map[string]func(*lease.Request){
		"layout": func(r *lease.Request) { r.Layout = "other" },
		"pool":   func(r *lease.Request) { r.Pool, r.Last = 2, 1 },
	} {
		req := s.request()
		differ(&req)
		_, err := c.Acquire(t.Context(), req)
		var mismatch *lease.MismatchError
		require.ErrorAs(t, err, &mismatch, name)
		require.Equal(t, "to change the pin, stop all members and delete "+filepath.Join(s.dir, "orders.pin"), mismatch.Change)
		require.ErrorContains(t, err, mismatch.Change)
		require.NotContains(t, err.Error(), `"init"`, "which cannot change the pin of a host")
		mismatch.Change = ""
		require.Equal(t, lease.MismatchError{Namespace: "orders", Stored: g.Pin(), Asked: req.Pin()}, *mismatch)
	}
	// Namespaces are separate, even those that look like paths or files.
	namespaces := []string{"orders.0", "..", ".", "orders.pin"}
	if !exists(filepath.Join(s.dir, "ORDERS.pin")) { // the file system tells them apart
		namespaces = append(namespaces, "ORDERS")
	}
	for _, ns := range namespaces {
		req := s.request()
		req.Namespace, req.Layout = ns, "of "+ns
		for range 4 {
			req.Owner = lease.NewOwner()
			_, err := c.Acquire(t.Context(), req)
			require.NoError(t, err, ns)
		}
		slots, err := c.Extras().Lister.Slots(t.Context(), ns)
		require.NoError(t, err)
		require.Len(t, slots, 4, ns)
	}
	slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
	require.NoError(t, err)
	require.Len(t, slots, 1)
}

func TestSlotsAreShown(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(1))
	g := s.acquire(c)
	back := s.center(byHand(0))
	given := s.acquire(back)
	require.NoError(t, back.Release(t.Context(), given, given.Floor))
	slots, err := s.center().Extras().Lister.Slots(t.Context(), "orders")
	require.NoError(t, err)
	require.Equal(t, []lease.Slot{
		{Worker: 0, Token: 1, HighWater: given.Floor, Now: s.ms.Load()},
		{Worker: 1, Token: 1, Holder: "shop", Since: g.Since, Expires: g.Ceiling, HighWater: g.Ceiling, Now: s.ms.Load()},
	}, slots)
	_, err = c.Extras().Lister.Slots(t.Context(), "a b")
	require.Error(t, err)
	slots, err = s.center(stateless, byHand(1)).Extras().Lister.Slots(t.Context(), "orders")
	require.NoError(t, err)
	require.Empty(t, slots)
	require.NoError(t, c.Release(t.Context(), g, g.Floor))
	require.NoError(t, os.Rename(s.dir, s.dir+".old"))
	_, err = c.Extras().Lister.Slots(t.Context(), "orders")
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = c.Acquire(t.Context(), s.request())
	require.ErrorIs(t, err, lease.ErrSetup, "a start has no reason to wait")
	require.ErrorContains(t, err, "create directory "+s.dir)
}

func TestStateless(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(stateless, byHand(2))
	require.Equal(t, "local (explicit)", fmt.Sprint(c), "and not by its fields, which calls change")
	began := s.ms.Load()
	g := s.acquire(c)
	require.Greater(t, s.ms.Load(), began+ahead, "a process before may have run ahead")
	require.Equal(t, s.ms.Load()-1, g.Floor)
	s.pass(10 * time.Second)
	g, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Equal(t, s.ms.Load(), g.Now)
	require.NoError(t, c.Release(t.Context(), g, g.Now+500))
	again := s.acquire(c)
	require.GreaterOrEqual(t, again.Floor, g.Now+500, "what this process has used")
	require.NoError(t, c.Release(t.Context(), again, again.Floor))
	_, err = c.Renew(t.Context(), g)
	require.ErrorIs(t, err, lease.ErrLost)
	entries, err := os.ReadDir(s.dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

// A call whose context has ended changes nothing.
func TestContextEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	g := s.acquire(c)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	s.pass(time.Second)
	_, acquire := c.Acquire(canceled, s.request())
	_, renew := c.Renew(canceled, g)
	_, slots := c.Extras().Lister.Slots(canceled, "orders")
	for _, err := range []error{acquire, renew, c.Release(canceled, g, g.Floor), slots} {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Equal(t, g.Ceiling, s.mark(2))
	_, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
}

func TestOptions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, o := range []Option{WithMaxAhead(-1), WithMaxAhead(3 * time.Hour), WithClock(nil)} {
		_, err := New(Config{Dir: s.dir}, s.layout, o)
		require.Error(t, err)
	}
	c, err := New(Config{Worker: worker(0), Stateless: true}, s.layout, WithMaxAhead(3*time.Second))
	require.NoError(t, err)
	_, err = c.Acquire(t.Context(), s.request())
	var wait *lease.QuarantineError
	require.ErrorAs(t, err, &wait)
	require.Greater(t, wait.Until.Sub(wait.Now), 2*time.Second)
	// Two ticks of a coarse layout are more than a second.
	c, err = New(Config{Worker: worker(0), Stateless: true}, snowflake.Layout{TimeUnit: time.Minute, SequenceBits: 10})
	require.NoError(t, err)
	require.Equal(t, 2*time.Minute, c.(*center).maxAhead)
}

// On a disk that fails writes, nothing is allowed that is not on record.
func TestWriteFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	c := s.center(byHand(2))
	g := s.acquire(c)
	l := c.held[holderOf(g.Request)]
	locked := l.file
	var err error
	l.file, err = os.Open(locked.Name()) // to read only
	require.NoError(t, err)
	s.pass(10 * time.Second)
	_, err = c.Renew(t.Context(), g)
	require.ErrorContains(t, err, "write record")
	require.NotErrorIs(t, err, lease.ErrLost, "to be tried again")
	require.Error(t, c.Release(t.Context(), g, g.Now))
	_, err = c.Acquire(t.Context(), g.Request)
	require.ErrorContains(t, err, "write record", "the release may have lowered the mark")
	require.Equal(t, g.Ceiling, s.mark(2))
	require.NoError(t, l.file.Close())
	l.file = locked
	renewed, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
	require.Greater(t, renewed.Ceiling, g.Ceiling)
}

// issue returns the ids of a process that borrows a worker id without records, several times
// in turn.
func (s *site) issue(ahead time.Duration, loans, ids int) (all []int64) {
	s.Helper()
	clock := func() time.Time { return time.UnixMilli(s.ms.Load()) }
	c, err := New(Config{Worker: worker(2), Stateless: true}, s.layout, WithMaxAhead(ahead), WithClock(clock))
	require.NoError(s, err)
	for range loans {
		began := clock()
		gen := generator.New(s.layout, generator.WithMaxAhead(ahead), generator.WithClock(func() time.Duration { return clock().Sub(began) }))
		g := s.acquire(c.(*center))
		_, err = gen.Adopt(generator.Range{Worker: g.Worker, Floor: g.Floor, Ceiling: g.Ceiling, Now: g.Now, At: gen.Elapsed()})
		require.NoError(s, err)
		got := make([]int64, ids)
		require.NoError(s, gen.NextIDs(s.Context(), got))
		require.NoError(s, c.Release(s.Context(), g, gen.Stop()))
		all = append(all, got...)
	}
	return all
}

// repeated returns how many of the ids are there before.
func repeated(ids []int64) (n int) {
	seen := map[int64]bool{}
	for _, id := range ids {
		if seen[id] {
			n++
		}
		seen[id] = true
	}
	return n
}

// TestStatelessAfterABurst: a process repeats no id of one before it whose ids ran ahead of the
// clock, unless the clock was set back.
func TestStatelessAfterABurst(t *testing.T) {
	t.Parallel()
	coarse := snowflake.Layout{TimeUnit: time.Second, TimeBits: 32, WorkerBits: 10, SequenceBits: 10}
	for name, c := range map[string]struct {
		layout     snowflake.Layout
		ahead      time.Duration
		loans, ids int
		pass       time.Duration // until the next process asks
		twice      bool
	}{
		"jssafe":                  {snowflake.JSSafe(), time.Second, 1, 5_000, 50 * time.Millisecond, false},
		"jssafe, nearly a second": {snowflake.JSSafe(), time.Second, 1, 60_000, 900 * time.Millisecond, false},
		"wide":                    {snowflake.Wide(), time.Second, 1, 500_000, 50 * time.Millisecond, false},
		"a longer max_ahead":      {snowflake.JSSafe(), 10 * time.Second, 1, 300_000, 4 * time.Second, false},
		"loans in turn do not run ahead by a burst each": {snowflake.JSSafe(), time.Second, 4, 60_000, 50 * time.Millisecond, false},
		"into the third tick":                            {coarse, 2 * time.Second, 1, 2*1024 + 1, 50 * time.Millisecond, false},
		"a clock that is set back":                       {snowflake.JSSafe(), time.Second, 1, 60_000, -time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.layout = c.layout
			s.pass(98 * time.Millisecond) // so a loan on coarse begins 100 ms into a tick
			first := s.issue(c.ahead, c.loans, c.ids)
			s.pass(c.pass)
			require.Equal(t, c.twice, repeated(append(first, s.issue(c.ahead, 1, min(c.ids, 60_000))...)) > 0)
		})
	}
}
