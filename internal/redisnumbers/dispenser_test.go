package redisnumbers_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

// orders is the key of the dispenser of ordered.
const orders = "snowlease:{shop}:dispenser:orders"

// A behind is the store behind a dispenser, with injected faults.
type behind struct {
	segmentcheck.Memory
	calls atomic.Int64
	last  atomic.Int64 // size of the last request
	fault func(ctx context.Context, call int64) error
	after func(call int64, got numberstore.Range) numberstore.Range
}

func (b *behind) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	call := b.calls.Add(1)
	b.last.Store(r.N)
	if b.fault != nil {
		if err := b.fault(ctx, call); err != nil {
			return numberstore.Range{}, err
		}
	}
	got, err := b.Memory.Reserve(ctx, r)
	if err == nil && b.after != nil {
		got = b.after(call, got)
	}
	return got, err
}

func ordered(steps ...int64) numbers.SegmentConfig {
	cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders", Strict: true}
	if len(steps) > 0 {
		cfg.Step, cfg.MinStep, cfg.MaxStep = steps[0], steps[0], steps[0]
	}
	return cfg
}

func dispenser(t testing.TB, client redis.UniversalClient, b numbers.Store, cfg numbers.SegmentConfig, opts ...redisseq.Option) *redisnumbers.Dispenser {
	t.Helper()
	d, err := redisnumbers.NewDispenser(client, b, cfg, option.All[redisconn.Conn](opts))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	return d
}

func issuer(t testing.TB, s numbers.Store, cfg numbers.SegmentConfig) *numbers.Segment {
	t.Helper()
	i, err := numbers.OpenSegment(t.Context(), s, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

// take reserves n numbers, one by one.
func take(t testing.TB, i *numbers.Segment, n int) (all []int64) {
	t.Helper()
	// A dispenser that does not heed what the issuer knows gives it useless numbers for half
	// a minute.
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second+time.Duration(n)*20*time.Millisecond)
	defer cancel()
	for range n {
		v, err := i.Next(ctx)
		require.NoError(t, err)
		all = append(all, v)
	}
	return all
}

// next waits a moment.
func next(t testing.TB, i *numbers.Segment) (int64, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	return i.Next(ctx)
}

// letTimePass makes the clock of s go until the test ends. A caller that has given up may be told to
// fetch, and does not hear it: then another fetches after some seconds.
func letTimePass(t testing.TB, s *redistest.Store) {
	t.Helper()
	const tick = 50 * time.Millisecond
	ticker, stop, ended := time.NewTicker(tick), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-ticker.C:
				s.Sleep(tick)
			case <-stop:
				return
			}
		}
	}()
	t.Cleanup(func() {
		ticker.Stop()
		close(stop)
		<-ended
	})
}

// fetched waits until n numbers are fetched ahead.
func fetched(t testing.TB, s *redistest.Store, n string) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Admin.HGet(t.Context(), orders, "nlen").Val() == n }, 5*time.Second, time.Millisecond)
}

func TestDispenserKeepsTheContract(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		for _, cfg := range []numbers.SegmentConfig{ordered(), ordered(7)} {
			d := dispenser(t, s.Client(t), new(segmentcheck.Memory), cfg)
			require.NoError(t, segmentcheck.Run(t.Context(), d, fmt.Sprint("shop/a", cfg.Step), nil))
			require.Equal(t, "redis "+s.Addr+" db 0 before memory", d.String())
		}
		for key := range s.Records(t) {
			require.EqualValues(t, -1, s.Admin.TTL(t.Context(), key).Val(), key)
		}
	})
}

// issue issues numbers in several processes while during runs, and returns the last one. A number
// requested after another was given is greater, across all callers.
func issue(t *testing.T, each int, during func(), processes ...*numbers.Segment) (last int64) {
	t.Helper()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var given []int64
	for _, i := range processes {
		wg.Go(func() {
			for range each {
				mu.Lock()
				before := last
				mu.Unlock()
				n, err := i.Next(t.Context())
				if err != nil || n <= before {
					t.Errorf("%d after %d: %v", n, before, err)
					return
				}
				mu.Lock()
				given, last = append(given, n), max(last, n)
				mu.Unlock()
			}
		})
	}
	during()
	wg.Wait()
	slices.Sort(given)
	require.Len(t, slices.Compact(given), each*len(processes), "each number once")
	return last
}

// TestStrictOrder: numbers rise by one across all processes and segments, and processes do
// not wait for the store.
func TestStrictOrder(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		b := new(behind)
		var processes []*numbers.Segment
		for range 8 {
			processes = append(processes, issuer(t, dispenser(t, s.Client(t), b, ordered(20)), ordered(20)))
		}
		require.EqualValues(t, 8*60, issue(t, 60, func() {}, processes...), "no number is left out")
		require.LessOrEqual(t, b.calls.Load(), int64(8*60/20+2), "one process fetches a segment, not all")
	})
}

// TestFaultsOfRedis: whatever Redis loses, no number repeats and none is below an earlier
// one.
func TestFaultsOfRedis(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(t testing.TB, s *redistest.Store){
		"wiped": func(t testing.TB, s *redistest.Store) { s.Wipe(t) },
		"deleted": func(t testing.TB, s *redistest.Store) {
			require.NoError(t, s.Admin.Del(context.Background(), orders).Err())
		},
		"another server": func(t testing.TB, s *redistest.Store) { s.Reincarnate(t) },
		"fields deleted": func(t testing.TB, s *redistest.Store) {
			require.NoError(t, s.Admin.HDel(context.Background(), orders, "used", "top").Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, b := redistest.NewMini(t), new(behind)
			var processes []*numbers.Segment
			for range 4 {
				processes = append(processes, issuer(t, dispenser(t, s.Client(t), b, ordered(15)), ordered(15)))
			}
			issue(t, 80, func() {
				for range 10 {
					time.Sleep(10 * time.Millisecond)
					fault(t, s)
				}
			}, processes...)
		})
	}
}

// TestLostRedisSkipsASegment: after a Redis loses its data, the segment in use and the one
// fetched ahead are skipped.
func TestLostRedisSkipsASegment(t *testing.T) {
	t.Parallel()
	s, b := redistest.NewMini(t), new(behind)
	i := issuer(t, dispenser(t, s.Client(t), b, ordered(10)), ordered(10))
	require.Equal(t, []int64{1, 2, 3}, take(t, i, 3))
	fetched(t, s, "10")
	s.Wipe(t)
	require.Equal(t, []int64{21, 22, 23}, take(t, i, 3))
	// The same after the steps of docs/numbers.md for a store that was restored.
	require.NoError(t, s.Admin.Del(t.Context(), orders).Err())
	restored := new(behind)
	require.NoError(t, restored.Create(t.Context(), "shop/orders", 24))
	for _, want := range []int64{24, 44} {
		require.Equal(t, []int64{want}, take(t, issuer(t, dispenser(t, s.Client(t), restored, ordered(10)), ordered(10)), 1))
		fetched(t, s, "10")
		s.Wipe(t)
	}
}

// TestNoNumberIsMissingBetweenSegments: neither at the ends of a segment nor at the start,
// with a database alone and with a dispenser before it.
func TestNoNumberIsMissingBetweenSegments(t *testing.T) {
	t.Parallel()
	const step = 512
	want := make([]int64, 3*step)
	for i := range want {
		want[i] = int64(i) + 1
	}
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		center, err := dbseq.Open("sqlite", filepath.Join(t.TempDir(), "app.db"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, center.Close()) })
		behind := center.Numbers()

		invoices := ordered(step)
		require.Equal(t, want, take(t, issuer(t, dispenser(t, s.Client(t), behind, invoices), invoices), len(want)), "strict order")
		members := numbers.SegmentConfig{Namespace: "shop", Name: "members", Step: step, MinStep: step, MaxStep: step}
		require.Equal(t, want, take(t, issuer(t, behind, members), len(want)), "order within the process")
	})
}

// TestStaleReplica: another server has an older state, in which given numbers look
// available.
func TestStaleReplica(t *testing.T) {
	t.Parallel()
	s, b := redistest.NewMini(t), new(behind)
	i := issuer(t, dispenser(t, s.Client(t), b, ordered(50)), ordered(50))
	all := take(t, i, 10)
	stale := s.Snapshot(t)
	all = append(all, take(t, i, 20)...)
	stale()
	s.Reincarnate(t)
	another := issuer(t, dispenser(t, s.Client(t), b, ordered(50)), ordered(50))
	require.IsIncreasing(t, append(all, take(t, another, 10)...))
}

// TestStaleStateIsSeenByWhoKnowsMore: even if incarnations are not compared, a process
// gets no number at or below one that it was given.
func TestStaleStateIsSeenByWhoKnowsMore(t *testing.T) {
	t.Parallel()
	s, b := redistest.NewMini(t), new(behind)
	d := dispenser(t, s.Client(t), b, ordered(50), redisseq.WithDurable(true))
	i := issuer(t, d, ordered(50))
	all := take(t, i, 10)
	stale := s.Snapshot(t)
	all = append(all, take(t, i, 20)...)
	stale()
	require.IsIncreasing(t, append(all, take(t, i, 20)...))
}

// TestInstalledOnce: a client repeats a call whose reply was lost. A segment that was
// installed and then lost is not installed again.
func TestInstalledOnce(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, s *redistest.Store, before func()){
		"wiped": func(t *testing.T, s *redistest.Store, _ func()) { s.Wipe(t) },
		"stale replica": func(t *testing.T, s *redistest.Store, before func()) {
			before()
			s.Reincarnate(t)
		},
		"wiped, and another was told": func(t *testing.T, s *redistest.Store, _ func()) {
			s.Wipe(t)
			told := make(chan struct{})
			slow := &behind{fault: func(ctx context.Context, _ int64) error {
				close(told)
				<-ctx.Done()
				return ctx.Err()
			}}
			d := dispenser(t, s.Client(t), slow, ordered(10))
			go func() { _, _ = d.Reserve(t.Context(), asking(1)) }()
			<-told
		},
		"nothing lost": func(*testing.T, *redistest.Store, func()) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.NewMini(t)
			var before func() // restores the state before the segment was installed
			b := &behind{after: func(_ int64, got numberstore.Range) numberstore.Range {
				before = s.Snapshot(t)
				return got
			}}
			var (
				mu       sync.Mutex // an install goes on beside calls
				all      []int64
				repeated int
			)
			client := s.Client(t)
			other := issuer(t, dispenser(t, s.Client(t), &b.Memory, ordered(10)), ordered(10))
			client.AddHook(repeating(func() {
				mu.Lock()
				repeated++
				first := repeated == 1
				mu.Unlock()
				if first {
					others := take(t, other, 3) // of what was just installed
					fetched(t, s, "10")         // nothing else is installed after the loss
					mu.Lock()
					all = append(all, others...)
					mu.Unlock()
					lose(t, s, before)
				}
			}))
			i := issuer(t, dispenser(t, redistest.Shared{UniversalClient: client}, b, ordered(10)), ordered(10))
			own := take(t, i, 40)
			mu.Lock()
			defer mu.Unlock()
			require.Positive(t, repeated)
			all = append(all, own...)
			slices.Sort(all)
			require.Len(t, slices.Compact(slices.Clone(all)), len(all), "%v", all)
		})
	}
}

// TestWhoFetchesDies: if the fetching process dies or is late, another takes over after some time,
// and the late segment is not installed.
func TestWhoFetchesDies(t *testing.T) {
	t.Parallel()
	s, b := redistest.NewMini(t), new(behind)
	i := issuer(t, dispenser(t, s.Client(t), b, ordered(10)), ordered(10))
	take(t, i, 5)
	fetched(t, s, "10")
	all := take(t, i, 10) // five of the segment are left, so that the next one is beside it
	fetched(t, s, "10")
	now := s.Admin.Time(t.Context()).Val().UnixMilli()
	first, err := s.Admin.HGet(t.Context(), orders, "first").Int64()
	require.NoError(t, err)
	// A fetch that took long has left a gap before the next segment.
	require.NoError(t, s.Admin.HSet(t.Context(), orders, "nlen", "0", "top", first+9, "want", "DEAD", "at", now).Err())
	all = append(all, take(t, i, 5)...)
	_, err = next(t, i)
	require.ErrorIs(t, err, numbers.ErrUnavailable)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	s.Sleep(5 * time.Second)
	letTimePass(t, s)
	require.IsIncreasing(t, append(all, take(t, i, 30)...))
}

// TestCallThatIsGivenUp: a caller that does not hear that it is to fetch lets others fetch at once.
func TestCallThatIsGivenUp(t *testing.T) {
	t.Parallel()
	s := redistest.NewMini(t)
	client := s.Client(t)
	ctx, cancel := context.WithCancel(t.Context())
	client.AddHook(redistest.Hook(func(cmds []redis.Cmder, call func() error) error {
		err := call()
		if err == nil && ctx.Err() == nil && strings.HasPrefix(cmds[0].Name(), "eval") {
			cancel()
			err = errors.New("connection reset")
		}
		return err
	}))
	d := dispenser(t, redistest.Shared{UniversalClient: client}, new(behind), ordered(10))
	_, err := d.Reserve(ctx, asking(1))
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, d.Close())
	require.Equal(t, "failed", s.Admin.HGet(t.Context(), orders, "want").Val())
}

// TestStoreBehindFails: numbers continue while Redis has some, then callers get the
// store's error, until the store recovers.
func TestStoreBehindFails(t *testing.T) {
	t.Parallel()
	s, down := redistest.NewMini(t), atomic.Bool{}
	refused := errors.New("connection refused")
	b := &behind{fault: func(context.Context, int64) error {
		if down.Load() {
			return refused
		}
		return nil
	}}
	i := issuer(t, dispenser(t, s.Client(t), b, ordered(10)), ordered(10))
	all := take(t, i, 1)
	fetched(t, s, "10")
	down.Store(true)
	all = append(all, take(t, i, 19)...)
	require.Eventually(t, func() bool {
		s.Sleep(150 * time.Millisecond)
		_, err := next(t, i)
		return errors.Is(err, refused) && errors.Is(err, numbers.ErrUnavailable)
	}, 10*time.Second, time.Millisecond)
	down.Store(false)
	letTimePass(t, s)
	require.IsIncreasing(t, append(all, take(t, i, 30)...))
}

// TestNobodyWaitsForTheStoreBehind: starting a segment fetches the next.
func TestNobodyWaitsForTheStoreBehind(t *testing.T) {
	t.Parallel()
	s, gate := redistest.NewMini(t), make(chan struct{})
	b := &behind{fault: func(ctx context.Context, call int64) error {
		if call <= 2 {
			return nil
		}
		select {
		case <-gate:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
	i := issuer(t, dispenser(t, s.Client(t), b, ordered(40)), ordered(40))
	take(t, i, 1)
	fetched(t, s, "40")
	take(t, i, 60) // the third segment is requested, and does not come
	require.Eventually(t, func() bool { return b.calls.Load() == 3 }, 5*time.Second, time.Millisecond)
	take(t, i, 15)
	close(gate)
	require.IsIncreasing(t, take(t, i, 100))
}

// TestDispenserStepFollowsTheRate: the step follows the total rate, by the clock of Redis.
func TestDispenserStepFollowsTheRate(t *testing.T) {
	t.Parallel()
	s, b := redistest.NewMini(t), new(behind)
	cfg := ordered()
	i := issuer(t, dispenser(t, s.Client(t), b, cfg), cfg)
	other := issuer(t, dispenser(t, s.Client(t), b, cfg), cfg)
	dst := make([]int64, 20)
	for range 125 { // 50 a second
		for _, i := range []*numbers.Segment{i, other} {
			require.NoError(t, i.NextIDs(t.Context(), dst))
			require.IsIncreasing(t, dst)
			s.Sleep(400 * time.Millisecond)
		}
	}
	require.InDelta(t, 500, b.last.Load(), 50)
}

// TestStampede: all processes use an empty Redis at once.
func TestStampedeOnADispenser(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		b := &behind{fault: func(context.Context, int64) error { time.Sleep(20 * time.Millisecond); return nil }}
		var wg sync.WaitGroup
		var mu sync.Mutex
		var all []int64
		for range 20 {
			d := dispenser(t, s.Client(t), b, ordered(100))
			wg.Go(func() {
				got, err := d.Reserve(t.Context(), asking(2))
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, got.First, got.Last)
			})
		}
		wg.Wait()
		slices.Sort(all)
		require.Len(t, slices.Compact(all), 40)
		require.EqualValues(t, 40, all[len(all)-1])
		require.LessOrEqual(t, b.calls.Load(), int64(2))
	})
}

// TestDispenserOnServers runs on real servers. The Redis is killed and restarts empty
// during the test.
func TestDispenserOnServers(t *testing.T) {
	t.Parallel()
	s, srv := redistest.StartReal(t)
	dsn := testserver.MariaDB(t)
	var processes []*numbers.Segment
	for range 4 {
		b, err := dbseq.Open("mysql", dsn)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, b.Close()) })
		processes = append(processes, issuer(t, dispenser(t, s.Client(t), b.Numbers(), ordered(30)), ordered(30)))
	}
	issue(t, 500, func() {
		for range 3 {
			time.Sleep(50 * time.Millisecond)
			srv.Kill()
			srv.Start()
		}
	}, processes...)
}

func TestDispenserClosed(t *testing.T) {
	t.Parallel()
	s := redistest.NewMini(t)
	b := &behind{fault: func(ctx context.Context, _ int64) error {
		<-ctx.Done()
		return ctx.Err()
	}}
	d := dispenser(t, s.Client(t), b, ordered())
	errs := make(chan error)
	go func() {
		_, err := d.Reserve(t.Context(), asking(1))
		errs <- err
	}()
	require.Eventually(t, func() bool { return b.calls.Load() == 1 }, 5*time.Second, time.Millisecond)
	require.NoError(t, d.Close())
	require.Error(t, <-errs)
	s.Sleep(time.Second)
	_, err := d.Reserve(t.Context(), asking(1))
	require.ErrorIs(t, err, numbers.ErrClosed)
}

func TestNewDispenserRefuses(t *testing.T) {
	t.Parallel()
	_, err := redisnumbers.NewDispenser(nil, nil, numbers.SegmentConfig{})
	require.ErrorIs(t, err, redisseq.ErrClient)
	require.ErrorContains(t, err, "the store behind the dispenser is nil")
	require.ErrorContains(t, err, "name is empty")
	_, err = redisnumbers.New(nil)
	require.ErrorIs(t, err, redisseq.ErrClient)

	center, err := dbseq.Open("sqlite", filepath.Join(t.TempDir(), "missing", "app.db"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, center.Close()) })
	_, err = numbers.OpenSegment(t.Context(), dispenser(t, redistest.NewMini(t).Client(t), center.Numbers(), ordered()), ordered())
	require.ErrorIs(t, err, lease.ErrSetup)
	require.ErrorContains(t, err, "check that the folder of the file exists")
}
