package counter

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/snowflake"
)

// A giver reserves values as Redis does, and records when.
type giver struct {
	mu     sync.Mutex
	now    atomic.Int64
	last   int64
	skip   int64
	fail   int
	half   bool
	blocks []lot
}

// A lot is the values of one call.
type lot struct {
	first, n int64
	born     time.Duration
}

func (g *giver) reserve(_ context.Context, n, _ int64) (numberstore.Range, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail > 0 {
		g.fail--
		g.last += n // a lost reply
		return numberstore.Range{}, errors.New("lost")
	}
	if n == 0 {
		return numberstore.Range{First: 1}, nil
	}
	if g.half {
		n = max(1, n/2)
	}
	first := g.last + g.skip + 1
	g.last = first + n - 1
	g.blocks = append(g.blocks, lot{first: first, n: n, born: time.Duration(g.now.Load())})
	return numberstore.Range{First: first, Last: g.last}, nil
}

// of returns the block that a value was given in.
func (g *giver) of(t testing.TB, v int64) lot {
	g.mu.Lock()
	defer g.mu.Unlock()
	i, found := slices.BinarySearchFunc(g.blocks, v, func(b lot, v int64) int {
		switch {
		case v < b.first:
			return 1
		case v >= b.first+b.n:
			return -1
		}
		return 0
	})
	require.True(t, found, "%d was given", v)
	return g.blocks[i]
}

func given(t testing.TB, g *giver, cfg Config) *Counter {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	cfg.Namespace = "orders"
	s, err := New(client, cfg)
	require.NoError(t, err)
	s.of.Reserve = g.reserve
	s.of.Now = func() time.Duration { return time.Duration(g.now.Load()) }
	require.NoError(t, s.of.Start(t.Context()))
	t.Cleanup(func() {
		require.NoError(t, s.Close())
		require.NoError(t, client.Close())
	})
	return s
}

// FuzzSequence runs random actions of callers, Redis and clock on blocks.
func FuzzSequence(f *testing.F) {
	f.Add([]byte{0, 8, 16, 10, 18, 255, 0, 0, 0, 0})
	f.Add([]byte{250, 3, 0, 4, 0, 250, 5, 2, 6, 0, 7, 250, 0})
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		data := make([]byte, 200)
		for i := range data {
			data[i] = byte(rnd.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		synctest.Test(t, func(t *testing.T) { fuzzSequence(t, data) })
	})
}

func fuzzSequence(t *testing.T, data []byte) {
	var g giver
	s := given(t, &g, Config{Prefetch: 64, Layout: snowflake.Layout{Epoch: 946684800000}}) // before the bubble's time
	last, issued := int64(0), int64(0)
	check := func(ids []int64, err error) {
		for _, id := range ids {
			if err != nil {
				require.Zero(t, id)
				continue
			}
			require.Greater(t, id, last)
			last = id
			issued++
			v := id>>s.tsShift<<s.seqBits | id&s.seqMask
			require.Equal(t, id, s.id(v))
			b := g.of(t, v)
			require.LessOrEqual(t, time.Duration(g.now.Load())-b.born, s.cfg.MaxAge)
		}
	}
	for _, op := range data[:min(len(data), 200)] {
		k := int64(op >> 3)
		switch op & 7 {
		case 0, 1:
			id, err := Soon(s)
			check([]int64{id}, err)
		case 2:
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			ids := make([]int64, 4*k)
			check(ids, s.NextIDs(ctx, ids))
			cancel()
		case 3:
			g.now.Add(k * 100 * int64(time.Millisecond))
		case 4:
			g.mu.Lock()
			g.fail = int(k & 1)
			g.mu.Unlock()
		case 5:
			g.mu.Lock()
			g.skip = k
			g.mu.Unlock()
		case 6:
			s.Reset()
		case 7:
			g.mu.Lock()
			g.half = k&1 == 1
			g.mu.Unlock()
			g.now.Add(k * int64(time.Microsecond))
		}
		st := s.Status()
		require.GreaterOrEqual(t, st.Issued, issued)
		require.GreaterOrEqual(t, st.AtHand, int64(0))
		require.LessOrEqual(t, st.Block, int64(64))
	}
	require.NoError(t, s.Close())
	id, err := Soon(s)
	require.ErrorIs(t, err, generator.ErrClosed)
	require.Zero(t, id)
}

// NextID does no I/O: it returns ids that are at hand, and otherwise has some reserved. In strict
// order there are none.
func TestNextIDDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g giver
		s := given(t, &g, Config{Prefetch: 64, Layout: snowflake.Layout{Epoch: 946684800000}}) // before the bubble's time
		_, err := s.NextID()
		require.ErrorIs(t, err, generator.ErrExhausted)
		synctest.Wait() // until it is reserved
		id, err := s.NextID()
		require.NoError(t, err)
		require.Positive(t, id)
		strict := given(t, &g, Config{Prefetch: 1, Layout: s.cfg.Layout})
		_, err = strict.NextID()
		require.ErrorIs(t, err, errors.ErrUnsupported)
	})
}

// TestLateReply: the age of reserved ids counts from before the call, because a process may
// pause with the reply.
func TestLateReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g giver
		s := given(t, &g, Config{Prefetch: 64, Layout: snowflake.Layout{Epoch: 946684800000}}) // before the bubble's time
		var late atomic.Bool
		late.Store(true)
		s.of.Reserve = func(ctx context.Context, n, above int64) (numberstore.Range, error) {
			got, err := g.reserve(ctx, n, above)
			if late.Load() {
				g.now.Add(int64(s.cfg.MaxAge) + 1)
			}
			return got, err
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := s.NextIDs(ctx, make([]int64, 1))
		require.ErrorContains(t, err, "longer than max_age (1s)")
		late.Store(false)
		id, err := Soon(s)
		require.NoError(t, err)
		require.Equal(t, g.now.Load(), int64(g.of(t, id>>s.tsShift<<s.seqBits|id&s.seqMask).born))
	})
}

// Status counts only reserved ids that are young enough to issue.
func TestAtHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g giver
		s := given(t, &g, Config{Prefetch: 64, Layout: snowflake.Layout{Epoch: 946684800000}}) // before the bubble's time
		require.NoError(t, s.NextIDs(t.Context(), make([]int64, 64)))
		_, err := Soon(s)
		require.NoError(t, err)
		require.Positive(t, s.Status().AtHand)
		g.now.Add(int64(s.cfg.MaxAge) + 1)
		require.Zero(t, s.Status().AtHand)
	})
}

// The log says every 30 s that there are no ids, also if nobody asks for one.
func TestReminders(t *testing.T) {
	for _, prefetch := range []int64{1, 64} {
		synctest.Test(t, func(t *testing.T) {
			var g giver
			var log logtest.Journal
			s := given(t, &g, Config{Prefetch: prefetch, Layout: snowflake.Layout{Epoch: 946684800000}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			s.of.Reserve = func(context.Context, int64, int64) (numberstore.Range, error) {
				return numberstore.Range{}, errors.New("away")
			}
			_, err := Soon(s)
			require.ErrorContains(t, err, "away")
			time.Sleep(95 * time.Second)
			require.Equal(t, 4, strings.Count(log.String(), `msg="sequence unavailable"`))
		})
	}
}
