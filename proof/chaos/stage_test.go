package chaos

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	testlimit "github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
)

// With a short lease, what takes minutes in production takes seconds.
const (
	ttl       = 2 * time.Second
	skew      = 500 * time.Millisecond
	namespace = "chaos"
	groups    = 6 // of processes, each with its own proxies
	limit     = 2 * time.Minute
)

// An arena is a center on real servers, with the faults that can happen to them.
type arena struct {
	*network
	store  func(group int) store // as a group of processes reaches it
	direct func() store          // without a proxy
	clock  *clock
	faults []fault
	share  int       // of its engine's time, in percent
	crew   *crew     // the crew that works here
	back   time.Time // when the servers answer again, if a fault outlasts that; else zero

	noticedBy func(context.Context) error // waits until a loss has been noticed; nil: asks the center
	tend      func(context.Context) error // runs all the time; nil: nothing does
	streams   []stream                    // assigned to the seats in turn; nil: ids under a lease
	behind    func(group int) store       // the database of streams, if they need one
	keys      []string                    // what Redis may lose

	tell  []string // the records that tell how far ahead grants may reach
	lost  []string // of those, since a loss was noticed
	parts int      // losses of some records
}

// A stage is a run of one crew in one arena.
type stage struct {
	*testing.T
	*arena
	*crew
	name   string
	order  order
	length time.Duration
	size   int      // of the crew
	only   []string // faults; empty: all
	seed   uint64
	took   time.Duration // duration of the faults

	mu     sync.Mutex
	events []event             // what was done to the servers
	counts map[string]int      // faults that have ended
	doing  map[string]struct{} // faults that have not
}

// An event is the start of a fault of the servers, or the moment when they answer again.
type event struct {
	at    time.Time
	lossy bool // they answer again, and may have lost data
}

// lossy matches the faults after which grants may have been forgotten.
var lossy = regexp.MustCompile(`FLUSHALL|deleted|evicted|without its data|promote|takes over|another master|failed back|fell back|writer|all `)

// newStage takes its settings from the command line, and has its own random choices.
func newStage(t *testing.T, a *arena, name string, seed uint64) *stage {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s", seed, name)
	s := &stage{
		T: t, arena: a, name: name, size: *size, order: order{Request: request(), Layout: layout, Calm: *duration < time.Minute}, seed: h.Sum64(),
		length: *duration * time.Duration(a.share) / 100,
		counts: map[string]int{}, doing: map[string]struct{}{},
	}
	return s
}

// request is the request of all processes.
func request() lease.Request {
	r := memcenter.NewRequest(namespace, layout)
	r.TTL, r.MaxTTL, r.Skew, r.Last = ttl, ttl, skew, workers-1
	return r
}

func (s *stage) random(stream uint64) *rand.Rand { return rand.New(rand.NewPCG(s.seed, stream)) }

// run plays faults while processes issue ids. Then it lets the pool recover, ends the
// processes and judges. If the processes break the protocol, it continues until that
// shows, for a limited time.
func (s *stage) run() *verdict {
	s.Helper()
	testlimit.Set(s.T, s.length+4*limit)
	ctx, cancel := context.WithTimeout(testlimit.Context(s.T), s.length+3*limit)
	defer cancel()
	if s.streams == nil {
		s.open(ctx)
	}
	s.crew = newCrew(s.TempDir(), s.size, groups, s.order, s.arena.store, s.seed)
	if s.streams != nil {
		s.brief = func(seat *seat, o *order) {
			o.Stream = s.streams[(seat.group+seat.index/groups)%len(s.streams)]
			if o.Break != "" {
				o.Stream = stream(o.Break)
			}
			if s.behind != nil {
				o.Behind = s.behind(seat.group)
			}
		}
	}
	defer s.end()
	s.arena.crew = s.crew
	if s.streams == nil && s.order.Break == "" {
		s.times = spread
	}
	require.NoError(s, s.enlist())
	s.wait(ctx, "the worker ids are not lent", func() bool { return s.holders(nil) >= s.pool() })

	progress, ended := context.WithCancel(ctx)
	var report sync.WaitGroup
	began := time.Now()
	report.Go(func() { s.progress(progress, began) })
	if s.tend != nil {
		report.Go(func() { _ = s.failed(s.tend(progress)) })
	}
	defer func() {
		ended()
		report.Wait()
	}()
	s.uproar(ctx, 0)
	for round := uint64(1); s.order.Break != "" && time.Since(began) < limit && s.judge().duplicates == 0; round++ {
		s.uproar(ctx, round)
	}
	s.took = time.Since(began)
	if s.order.Break == "" {
		since := map[*process]int64{}
		for _, p := range s.present() {
			since[p] = p.ids.Load()
		}
		s.wait(ctx, "the pool does not recover", func() bool { return s.holders(since) >= s.pool() })
	}
	require.NoError(s, s.dismiss())
	return s.judge()
}

// pool returns how many processes can hold a worker id.
func (s *stage) pool() int {
	if s.streams != nil {
		return s.size
	}
	return min(s.size, int(s.order.Request.Last+1))
}

// uproar plays all faults at once: those of processes, of the network and, in this
// goroutine, of servers.
func (s *stage) uproar(ctx context.Context, round uint64) {
	s.Helper()
	began := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	var all background
	defer func() { // a server that fails ends this goroutine
		cancel(nil)
		all.Wait()
	}()
	begin := func(stream uint64, u uproar, length time.Duration) error {
		unwanted := func(f fault) bool {
			return s.only != nil && !slices.Contains(s.only, f.name) || !regexp.MustCompile(*only).MatchString(f.name)
		}
		u.once, u.faults = without(u.once, unwanted), without(u.faults, unwanted)
		if len(u.faults) == 0 {
			return nil
		}
		u.salvo = without(u.faults, func(f fault) bool { return !lossy.MatchString(f.name) })
		err := u.run(ctx, s.random(4*round+stream), func() bool { return time.Since(began) >= length || ctx.Err() != nil })
		if err != nil {
			cancel(err)
		}
		return err
	}
	side := func(stream uint64, faults []fault) {
		all.begin(func() error { return begin(stream, uproar{once: faults, faults: faults, make: s.make}, s.length) })
	}
	side(0, s.crew.faults(&all))
	side(1, s.network.faults())
	servers := uproar{once: s.arena.faults, faults: s.arena.faults, rest: 2 * ttl, make: s.harm}
	switch {
	case s.clock.host != nil: // no quarantines
		servers.rest = 0
	case *losses > 1: // half of the random faults lose data
		servers.rest, servers.many = 0, *losses/2
	}
	isWhole := func(f fault) bool { return whole.MatchString(f.name) }
	if _, differ := s.differ(); differ && slices.ContainsFunc(s.arena.faults, isWhole) {
		servers.once = without(s.arena.faults, isWhole)
		servers.faults = servers.once
		require.NoError(s, begin(3, servers, s.length/2))
		require.NoError(s, s.align(ctx))
		s.wait(ctx, "the pin is not that of the greatest times", func() bool { return s.settled(ctx) && s.holders(nil) >= s.pool()/2 })
		servers.once = without(s.arena.faults, func(f fault) bool { return !isWhole(f) })
		servers.faults = s.arena.faults
	}
	require.NoError(s, errors.Join(begin(2, servers, s.length), all.end()))
}

// without returns the faults for which drop is false.
func without(all []fault, drop func(fault) bool) []fault {
	return slices.DeleteFunc(slices.Clone(all), drop)
}

// harm plays a fault of the servers.
func (s *stage) harm(ctx context.Context, f fault, random *rand.Rand) error {
	s.events = append(s.events, event{at: time.Now()})
	s.back = time.Time{}
	err := s.make(ctx, f, random)
	if s.back.IsZero() {
		s.back = time.Now()
	}
	s.events = append(s.events, event{s.back, lossy.MatchString(f.name)})
	if lossy.MatchString(f.name) && !strings.Contains(f.name, "deleted") {
		s.lost = s.tell // also what was created anew after a loss
	}
	return err
}

// waits returns the time from each loss to the next grant, where nothing else was done
// to the servers meanwhile.
func (s *stage) waits(fresh []int64) (waits []time.Duration) {
	slices.Sort(fresh)
	for i, e := range s.events {
		if !e.lossy {
			continue
		}
		at := e.at.UnixMilli()
		next, _ := slices.BinarySearch(fresh, at)
		if next < len(fresh) && (i+1 == len(s.events) || fresh[next] < s.events[i+1].at.UnixMilli()) {
			waits = append(waits, time.Duration(fresh[next]-at)*time.Millisecond)
		}
	}
	slices.Sort(waits)
	return waits
}

// make plays a fault and counts it.
func (s *stage) make(ctx context.Context, f fault, random *rand.Rand) error {
	s.mu.Lock()
	s.doing[f.name] = struct{}{}
	s.mu.Unlock()
	err := f.do(ctx, random)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.doing, f.name)
	s.counts[f.name]++
	if err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// open creates the namespace.
func (s *stage) open(ctx context.Context) {
	s.Helper()
	req := request()
	req.Owner = lease.NewOwner()
	require.NoError(s, s.ask(func(c lease.Center) error {
		if init := c.Extras().Init; init != nil {
			return init(ctx, req)
		}
		return nil
	}))
}

// ask calls f with the center, which no proxy disturbs.
func (a *arena) ask(f func(lease.Center) error) error {
	c, closer, err := a.direct().center("")
	if err != nil {
		return err
	}
	return errors.Join(f(c), closer.Close())
}

func (s *stage) wait(ctx context.Context, what string, ok func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !ok() {
		pause(ctx, 50*time.Millisecond)
		require.NoError(s, errors.Join(ctx.Err(), s.failed(nil)), "%s: %d processes hold one, the others: %q", what, s.holders(nil), s.without())
	}
}

func (s *stage) judge() *verdict {
	s.Helper()
	if s.streams != nil {
		v, err := judgeNumbers(s.everybody())
		require.NoError(s, err)
		return v
	}
	v, err := judge(s.everybody())
	require.NoError(s, err)
	v.waits = s.waits(v.fresh)
	return v
}

func (s *stage) progress(ctx context.Context, began time.Time) {
	for {
		pause(ctx, 5*time.Second)
		if ctx.Err() != nil {
			return
		}
		s.mu.Lock()
		faults, doing := 0, slices.Sorted(maps.Keys(s.doing))
		for _, n := range s.counts {
			faults += n
		}
		s.mu.Unlock()
		s.Logf("%s, %.0f s of %.0f: %d processes so far, %d hold a worker id, %.3g ids, %d faults; now: %s",
			s.name, time.Since(began).Seconds(), s.length.Seconds(), len(s.everybody()), s.holders(nil), float64(s.issued()), faults,
			strings.Join(doing, ", "))
	}
}
