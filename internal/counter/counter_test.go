package counter_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// quick makes a quarantine short enough for real time: 21 ms.
func quick(c *counter.Config) {
	c.MaxAhead, c.Skew = 50*time.Millisecond, 20*time.Millisecond
}

func strict(c *counter.Config) { c.Prefetch = 1 }

// sequence returns a Counter that has started.
func sequence(t testing.TB, client redis.UniversalClient, changes ...func(*counter.Config)) *counter.Counter {
	t.Helper()
	return timed(t, client, nil, changes...)
}

// timed is sequence by another clock for the age of blocks, unless that is nil.
func timed(t testing.TB, client redis.UniversalClient, mono func() time.Duration, changes ...func(*counter.Config)) *counter.Counter {
	t.Helper()
	s, err := counter.New(client, sequenceConfig(append([]func(*counter.Config){quick}, changes...)...))
	require.NoError(t, err)
	if mono != nil {
		s.SetMono(mono)
	}
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Start(t.Context()))
	return s
}

// opening returns a miniredis on which the first quarantine is over.
func opening(t testing.TB) *redistest.Store {
	s := redistest.NewMini(t)
	rig{s, t}.opened(quick)
	return s
}

func next(t testing.TB, s interface {
	NextIDWait(ctx context.Context) (int64, error)
},
) int64 {
	t.Helper()
	id, err := counter.Soon(s)
	require.NoError(t, err)
	return id
}

func TestSequenceConfig(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{})
	t.Cleanup(func() { _ = client.Close() })
	_, err := counter.New(nil, sequenceConfig())
	require.ErrorIs(t, err, redisseq.ErrClient)
	_, err = counter.New(client, sequenceConfig(), redisseq.WithPrefix("{"))
	require.ErrorContains(t, err, "prefix")

	s, err := counter.New(client, counter.Config{Namespace: "orders"})
	require.NoError(t, err)
	require.Equal(t, snowflake.Layout{}.WithDefaults(), s.Layout())
	require.Contains(t, s.String(), "redis ")
	require.Empty(t, s.Warnings())
	slow := counter.Config{Namespace: "orders", Layout: snowflake.Layout{TimeUnit: time.Hour}}
	require.Equal(t, 2*time.Hour, slow.WithDefaults().MaxAhead)
}

func TestSequenceBeforeStartAndAfterClose(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int64{1, 64} {
		s, err := counter.New(opening(t).Admin, sequenceConfig(quick, func(c *counter.Config) { c.Prefetch = prefetch }))
		require.NoError(t, err)
		refuses := func(want error) {
			t.Helper()
			business, err := s.For(3)
			require.NoError(t, err)
			for _, next := range []func() (int64, error){
				s.NextID, func() (int64, error) { return s.NextIDWait(t.Context()) },
				business.NextID, func() (int64, error) { return business.NextIDWait(t.Context()) },
			} {
				id, err := next()
				require.ErrorIs(t, err, want)
				require.Zero(t, id)
			}
			ids := []int64{1, 2}
			require.ErrorIs(t, s.NextIDs(t.Context(), ids), want)
			require.Equal(t, []int64{0, 0}, ids)
			require.ErrorIs(t, business.NextIDs(t.Context(), []int64{1}), want)
			require.ErrorIs(t, s.Err(), want)
		}
		refuses(generator.ErrNotStarted)
		require.Zero(t, s.Status().Calls)
		require.NoError(t, s.Start(t.Context()))
		require.NoError(t, s.Start(t.Context()), "a second time")
		require.Equal(t, int64(1), s.Status().Calls)
		last := next(t, s)
		require.NoError(t, s.Err())
		require.NoError(t, s.NextIDs(t.Context(), nil))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s.Reset()
		_, err = s.NextIDWait(ctx)
		require.ErrorIs(t, err, context.Canceled)
		require.NoError(t, s.Err(), "which says nothing of Redis")
		require.NoError(t, s.Close())
		require.NoError(t, s.Close())
		refuses(generator.ErrClosed)
		require.Zero(t, s.Status().AtHand)
		require.NoError(t, s.Start(t.Context()))
		require.Greater(t, next(t, s), last)
		require.NoError(t, s.Close())
		refuses(generator.ErrClosed)
	}
	s, err := counter.New(opening(t).Admin, sequenceConfig())
	require.NoError(t, err)
	require.NoError(t, s.Close()) // before Start
	require.ErrorIs(t, s.Err(), generator.ErrClosed)
}

func TestSequenceBusinessNumbers(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int64{1, 64} {
		s := sequence(t, opening(t).Admin, func(c *counter.Config) { c.Prefetch = prefetch })
		_, err := s.For(32)
		require.ErrorContains(t, err, "0 to 31")
		_, err = s.For(-1)
		require.ErrorContains(t, err, "business number -1")
		business, err := s.For(31)
		require.NoError(t, err)
		ids := make([]int64, 3*perTick) // across ticks
		require.NoError(t, business.NextIDs(t.Context(), ids[:2*perTick]))
		require.NoError(t, s.NextIDs(t.Context(), ids[2*perTick:]))
		last := int64(-1)
		for i, id := range ids {
			p, err := s.Layout().Decode(id)
			require.NoError(t, err)
			require.Equal(t, int64(1), p.Worker)
			require.Equal(t, i < 2*perTick, p.Business == 31)
			place := p.Time.UnixMilli()*perTick + p.Sequence
			require.Greater(t, place, last)
			last = place
		}
		p, err := s.Layout().Decode(ids[len(ids)-1])
		require.NoError(t, err)
		require.Equal(t, p.Time, s.Status().Last.UTC())
		for _, stream := range []counter.Stream{s.Stream, business} {
			id := next(t, stream)
			require.Greater(t, id&^(31<<12), ids[len(ids)-1]&^(31<<12))
		}
		id, err := business.NextIDWait(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(31), id>>12&31)
	}
}

func TestSequenceRoundTrips(t *testing.T) {
	t.Parallel()
	s := sequence(t, opening(t).Admin, strict)
	next(t, s)
	require.NoError(t, s.NextIDs(t.Context(), make([]int64, 10_000)))
	st := s.Status()
	require.True(t, st.Strict)
	require.Equal(t, int64(3), st.Calls, "Start, and one a call")
	require.Equal(t, int64(10_001), st.Issued)
	require.Equal(t, int64(10_001), st.Reserved, "just what was asked for")

	s = timed(t, opening(t).Admin, func() time.Duration { return 0 }) // an endless rate
	for range 20_000 {
		next(t, s)
	}
	st = s.Status()
	require.Equal(t, int64(20_000), st.Issued)
	// Blocks of 1, 8, 64, 512, 4096 ..., and one ahead.
	require.LessOrEqual(t, st.Calls, int64(1+4+5+1))
	require.Equal(t, int64(4096), st.Block)

	var clock atomic.Int64
	s = timed(t, opening(t).Admin, func() time.Duration { return time.Duration(clock.Load()) })
	for range 10 {
		clock.Add(int64(time.Second))
		next(t, s)
	}
	st = s.Status()
	require.Equal(t, int64(11), st.Calls)
	require.Equal(t, int64(10), st.Reserved, "none is ahead at a low rate")

	batch := make([]int64, 50_000)
	require.NoError(t, s.NextIDs(t.Context(), batch))
	require.LessOrEqual(t, s.Status().Calls, int64(12+1), "who waits for many gets them at once, and there is one ahead")
}

func TestSequenceDropsWhatIsOld(t *testing.T) {
	t.Parallel()
	var clock atomic.Int64
	for name, drop := range map[string]func(s *counter.Counter){
		"old":   func(*counter.Counter) { clock.Add(int64(counter.DefaultMaxAge) + 1) },
		"Reset": (*counter.Counter).Reset,
	} {
		store := opening(t)
		s := timed(t, store.Admin, func() time.Duration { return time.Duration(clock.Load()) })
		const used = 1 + 8 + 64 + 300 // of 512, which has the next 4096 reserved
		for range used {
			next(t, s)
		}
		require.Eventually(t, func() bool { return s.Status().AtHand > 4096 }, time.Minute, time.Millisecond)
		other := next(t, sequence(t, store.Admin, strict))
		drop(s)
		require.Equal(t, int64(used), s.Status().Issued)
		require.Greater(t, next(t, s), other, name)
		st := s.Status()
		require.Equal(t, int64(used+1), st.Issued)
		require.Greater(t, st.Reserved, st.Issued+st.AtHand, "what was dropped")
	}

	s := timed(t, opening(t).Admin, func() time.Duration { return time.Duration(clock.Load()) })
	next(t, s)
	next(t, s) // of 8
	clock.Add(int64(counter.DefaultMaxAge) * 9 / 10)
	for range 6 {
		next(t, s)
	}
	require.NoError(t, s.Close())
	require.Equal(t, int64(3), s.Status().Calls, "at a rate that has fallen none is ahead")
}

// losing returns a hook that loses each third reply.
func losing() redistest.Hook {
	var calls atomic.Int64
	return func(cmds []redis.Cmder, call func() error) error {
		err := call()
		if err == nil && calls.Add(1)%3 == 0 {
			err = io.ErrUnexpectedEOF
			cmds[0].SetErr(err)
		}
		return err
	}
}

func TestSequenceLostReplies(t *testing.T) {
	t.Parallel()
	redistest.EachEngine(t, func(t *testing.T, s *redistest.Store) {
		for _, prefetch := range []int64{1, 64} {
			client := s.Client(t)
			s.Wipe(t)
			r := rig{s, t}
			change := func(c *counter.Config) { quick(c); c.Prefetch = prefetch }
			r.requireQuarantine(r.member(change))
			s.Sleep(100 * time.Millisecond)
			plain := sequence(t, client, change)
			loser := s.Client(t)
			loser.AddHook(losing())
			lossy := sequence(t, redistest.Shared{UniversalClient: loser}, change)
			var ids []int64
			for range 100 {
				ids = append(ids, next(t, lossy), next(t, plain))
			}
			unique(t, ids)
			st := lossy.Status()
			if prefetch == 1 {
				require.Greater(t, st.Calls, int64(120), "some were asked for twice")
				require.Equal(t, int64(100), st.Issued)
			}
		}
	})
}

func TestSequenceQuarantine(t *testing.T) {
	t.Parallel()
	store := redistest.NewMini(t)
	s, err := counter.New(store.Admin, sequenceConfig(strict, func(c *counter.Config) { c.Skew = time.Hour }))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var q *lease.QuarantineError
	err = s.Start(ctx)
	require.ErrorAs(t, err, &q, "at once: it outlasts the context")
	require.NoError(t, ctx.Err())
	require.NotContains(t, err.Error(), `"init"`)
	require.Contains(t, err.Error(), "orders")
	require.NoError(t, s.Start(ctx), "it has started")
	_, err = counter.Soon(s)
	require.ErrorAs(t, err, &q)
	require.Equal(t, q.Until, s.Status().Quarantine)
	require.Equal(t, err.Error(), s.Status().Error)
	require.ErrorAs(t, s.Err(), &q)
}

// TestSequenceGoesOnAfterALoss: it continues with reserved ids until these are too old.
func TestSequenceGoesOnAfterALoss(t *testing.T) {
	t.Parallel()
	store := redistest.NewMini(t)
	hour := func(c *counter.Config) { c.Skew = time.Hour }
	r := rig{store, t}
	r.Sleep(-time.Hour)
	r.opened(quick, hour)
	var clock atomic.Int64
	s := timed(t, store.Admin, func() time.Duration { return time.Duration(clock.Load()) }, hour)
	last := int64(0)
	for range 1 + 8 + 64 + 300 { // of 512, which has the next 4096 reserved
		last = next(t, s)
	}
	require.Eventually(t, func() bool { return s.Status().AtHand > 4096 }, time.Minute, time.Millisecond)
	store.Wipe(t)
	r.requireQuarantine(r.member(quick, hour))
	for used := range 4000 {
		id := next(t, s)
		require.Greater(t, id, last)
		if last = id; used == 3000 { // past half of the block, where it prefetches
			require.Eventually(t, func() bool { return errors.As(s.Err(), new(*lease.QuarantineError)) }, time.Minute, time.Millisecond)
		}
	}
	clock.Add(int64(counter.DefaultMaxAge) + 1)
	_, err := counter.Soon(s)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
}

func TestSequenceWaits(t *testing.T) {
	t.Parallel()
	store := redistest.NewReal(t)
	s, err := counter.New(store.Admin, sequenceConfig(quick, strict))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Start(t.Context()), "it waits for the end of the quarantine")
	store.Wipe(t)
	next(t, s) // within its 2 s

	ids := make([]int64, 100*perTick) // twice what the lead holds
	require.NoError(t, s.NextIDs(t.Context(), ids))
	unique(t, ids)
}

func TestSequenceExhausted(t *testing.T) {
	t.Parallel()
	store := opening(t) // its clock stands still
	for _, prefetch := range []int64{1, 64} {
		s := sequence(t, store.Admin, func(c *counter.Config) { c.Prefetch = prefetch })
		store.Sleep(time.Second)
		ids := make([]int64, 51*perTick)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("tired"))
		defer cancel()
		err := s.NextIDs(ctx, ids)
		require.ErrorIs(t, err, generator.ErrExhausted)
		require.Zero(t, ids[0])
		require.Zero(t, ids[len(ids)-1])
		_, err = counter.Soon(s)
		require.ErrorIs(t, err, generator.ErrExhausted)
		require.NoError(t, s.Err(), "which passes")
		store.Sleep(time.Second)
		next(t, s)
	}
}

func TestSequenceGivesUp(t *testing.T) {
	t.Parallel()
	for _, prefetch := range []int64{1, 64} {
		hour := func(c *counter.Config) { c.Prefetch, c.Skew = prefetch, time.Hour }
		s, err := counter.New(redistest.NewMini(t).Admin, sequenceConfig(hour))
		require.NoError(t, err)
		tired := errors.New("tired")
		ctx, cancel := context.WithCancelCause(t.Context())
		failed := make(chan error, 1)
		go func() { failed <- s.Start(ctx) }()
		require.Eventually(t, func() bool { return s.Status().Err != nil }, time.Minute, time.Millisecond)
		cancel(tired)
		err = <-failed
		require.ErrorIs(t, err, tired)
		require.ErrorAs(t, err, new(*lease.QuarantineError))

		go func() {
			_, err := s.NextIDWait(t.Context())
			failed <- err
		}()
		calls := s.Status().Calls
		require.Eventually(t, func() bool { return s.Status().Calls > calls }, time.Minute, time.Millisecond)
		require.NoError(t, s.Close())
		require.ErrorIs(t, <-failed, generator.ErrClosed)
	}
}

func TestSequenceKnowsWhenRedisIsBack(t *testing.T) {
	t.Parallel()
	store, srv := redistest.StartReal(t)
	for _, prefetch := range []int64{1, 64} {
		s := sequence(t, store.Client(t), func(c *counter.Config) { c.Prefetch = prefetch })
		next(t, s)
		srv.Kill()
		require.Eventually(t, func() bool {
			_, err := counter.Soon(s)
			require.Error(t, err)
			return s.Err() != nil
		}, time.Minute, time.Millisecond)
		require.NotEmpty(t, s.Status().Error)
		srv.Start()
		require.Eventually(t, func() bool { return s.Err() == nil }, time.Minute, 10*time.Millisecond, "though nobody asks for ids")
		require.Empty(t, s.Status().Error)
	}
}

func TestSequenceServersThatRefuse(t *testing.T) {
	t.Parallel()
	store, _ := redistest.StartReal(t)
	ctx := t.Context()
	s := sequence(t, store.Admin, strict)
	next(t, s)
	soon := func() error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := s.NextIDWait(ctx)
		return err
	}
	require.NoError(t, store.Admin.ReplicaOf(ctx, "127.0.0.1", "1").Err())
	require.ErrorIs(t, soon(), redisseq.ErrReplica)
	require.NoError(t, store.Admin.ReplicaOf(ctx, "NO", "ONE").Err())
	require.NoError(t, store.Admin.ConfigSet(ctx, "min-replicas-to-write", "1").Err())
	require.ErrorContains(t, soon(), "NOREPLICAS")
	require.NoError(t, store.Admin.ConfigSet(ctx, "min-replicas-to-write", "0").Err())
	require.NoError(t, store.Admin.ConfigSet(ctx, "maxmemory", "1").Err())
	next(t, s)
	require.NoError(t, store.Admin.ScriptFlush(ctx).Err())
	next(t, s)

	other, err := counter.New(store.Admin, sequenceConfig(quick, func(c *counter.Config) { c.Worker = 2 }))
	require.NoError(t, err)
	require.ErrorAs(t, other.Start(ctx), new(*lease.MismatchError))
	_, err = counter.Soon(other)
	require.ErrorIs(t, err, generator.ErrNotStarted)
}

func TestSequencePrefix(t *testing.T) {
	t.Parallel()
	store := redistest.NewMini(t, redisseq.WithPrefix("app:ids"))
	_, _, err := rig{store, t}.member().Reserve(t.Context(), 1)
	require.ErrorAs(t, err, new(*lease.QuarantineError))
	require.Equal(t, []string{"app:ids:{orders}:sequence"}, store.Admin.Keys(t.Context(), "*").Val())
}

func FuzzSequenceReply(f *testing.F) {
	for _, seed := range []string{
		"OK\x00238245307313\x001\x001", "OK\x00-1\x001\x001", "OK\x001\x004096\x001", "OK\x001\x001\x000",
		"OK\x009999999999999\x001\x001", "OK\x00238245307313\x001\x001\x000", "EXHAUSTED\x0012", "TIME\x001",
		"QUARANTINE\x001\x009999999999999\x00why", "MISMATCH\x00pin", "CLOCK\x001", "LOST", "NORUNID", "VERSION\x005.0", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var list []any
		for part := range strings.SplitSeq(text, "\x00") {
			list = append(list, part)
		}
		for _, reply := range []any{list, text, int64(len(text)), nil, []any{}, []any{int64(1)}} {
			s, err := counter.New(redistest.Foreign{Reply: reply}, sequenceConfig(strict))
			require.NoError(t, err)
			require.Len(t, s.Warnings(), 1)
			first, got, err := s.Reserve(t.Context(), 1)
			if err != nil {
				require.Zero(t, first)
				require.Zero(t, got)
				continue
			}
			require.Equal(t, "OK", list[0])
			require.Equal(t, int64(1), got)
			require.Positive(t, first)
			_, _, err = s.Reserve(t.Context(), 1)
			require.ErrorIs(t, err, lease.ErrDamaged, "the same reply again")
		}
	})
}

func TestServerThatDoesNotTellItsRunID(t *testing.T) {
	t.Parallel()
	redistest.EachSilent(t, func(t *testing.T, client *redis.Client) {
		s, err := counter.New(client, sequenceConfig())
		require.NoError(t, err)
		_, _, err = s.Reserve(t.Context(), 1)
		require.ErrorIs(t, err, redisseq.ErrRunID)
	})
}
