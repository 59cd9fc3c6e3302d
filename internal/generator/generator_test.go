package generator

import (
	"context"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// t0 is the center's clock when the tests begin, Unix ms.
const t0 = 1_800_000_000_000

// A bench is a generator whose clocks the test sets.
type bench struct {
	*Generator
	elapsed atomic.Int64 // ns
}

func newBench(t testing.TB, l snowflake.Layout, opts ...Option) *bench {
	t.Helper()
	b := &bench{}
	clock := WithClock(func() time.Duration { return time.Duration(b.elapsed.Load()) })
	b.Generator = New(l, append([]Option{clock}, opts...)...)
	return b
}

func (b *bench) advance(d time.Duration) { b.elapsed.Add(int64(d)) }

func (b *bench) adopt(t testing.TB, r Range) int64 {
	t.Helper()
	r.At = b.Elapsed()
	used, err := b.Adopt(r)
	require.NoError(t, err)
	return used
}

// lent is a range that starts at now.
func lent(worker, now int64, ttl time.Duration) Range {
	return Range{Worker: worker, Floor: now - 1, Ceiling: now + ttl.Milliseconds(), Now: now}
}

func (b *bench) next(t testing.TB) snowflake.Parts {
	t.Helper()
	id, err := b.NextID()
	require.NoError(t, err)
	p, err := b.layout.Decode(id)
	require.NoError(t, err)
	return p
}

func TestErrorsNameTheState(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	_, err := b.NextID()
	require.ErrorIs(t, err, ErrNotStarted)

	b.adopt(t, lent(1, t0, time.Second))
	b.next(t)
	b.advance(1001 * time.Millisecond)
	_, err = b.NextID()
	require.ErrorIs(t, err, ErrLeaseExpired)

	b.Stop()
	_, err = b.NextID()
	require.ErrorIs(t, err, ErrClosed)
	_, err = b.Adopt(lent(1, t0, time.Second))
	require.ErrorIs(t, err, ErrClosed)
}

func TestLastTickLiesWithinTheCeiling(t *testing.T) {
	for _, unit := range []time.Duration{time.Millisecond, 10 * time.Millisecond, time.Second} {
		for phase := range int64(25) {
			b := newBench(t, snowflake.Layout{TimeUnit: unit, SequenceBits: 8})
			r := Range{Worker: 1, Floor: t0 + phase*97, Ceiling: t0 + phase*97 + 30_001 + phase*13, Now: t0 + phase*97}
			b.adopt(t, r)
			unused := newBench(t, snowflake.Layout{TimeUnit: unit, SequenceBits: 8})
			unused.adopt(t, r)
			require.GreaterOrEqual(t, unused.Stop(), r.Floor)
			var ids int
			for {
				id, err := b.NextID()
				if err != nil {
					require.ErrorIs(t, err, ErrLeaseExpired)
					break
				}
				p, _ := b.layout.Decode(id)
				start := p.Time.UnixMilli()
				if start <= r.Floor || start+unit.Milliseconds()-1 > r.Ceiling {
					t.Fatalf("the tick at %d lies outside of %+v", start, r)
				}
				b.advance(unit)
				ids++
			}
			require.Positive(t, ids)
		}
	}
}

// Ids may be sharded by id % n: the first ids of requests are within 25 % of their share in each
// shard, and so are the last, however many ids a request takes. Shares of fewer than 400 requests
// are allowed the 5 standard deviations that 25 % is there.
func TestShardsAreEven(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]snowflake.Layout{
		"default": {}, "jssafe": snowflake.JSSafe(), "10ms": {TimeUnit: 10 * time.Millisecond, SequenceBits: 8},
		"2 bits": {SequenceBits: 2, TimeBits: 41},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, apart := range []time.Duration{time.Millisecond, 10 * time.Millisecond} {
				for _, stride := range []int64{1, 2, 3, 8, 16} {
					b := newBench(t, l)
					if stride*int64(max(1, b.layout.TimeUnit/apart)) > b.layout.PerTick()/4 {
						continue // a burst
					}
					b.adopt(t, lent(3, t0, 24*time.Hour))
					shards := min(b.layout.PerTick(), 1024)
					first, last := make([]float64, shards), make([]float64, shards)
					const each = 100
					for range shards * each {
						b.advance(apart)
						v, n, tm := b.take(stride)
						if n != stride {
							t.Fatal(n)
						}
						first[b.id(tm, v)%shards]++
						last[b.id(tm, v+n-1)%shards]++
					}
					for n := shards; n >= 2; n /= 2 {
						for _, counts := range [][]float64{first, last} {
							share := float64(shards / n * each)
							for s := range n {
								count := 0.0
								for i := s; i < shards; i += n {
									count += counts[i]
								}
								if math.Abs(count/share-1) > max(0.25, 5/math.Sqrt(share)) {
									t.Fatalf("%d ids each %v: shard %d of %d has %v of its share", stride, apart, s, n, count/share)
								}
							}
						}
					}
				}
			}
		})
	}
}

// Ids must differ in their last bits even if each process issues only one.
func TestFirstSequencesDiffer(t *testing.T) {
	for _, ahead := range []int64{0, 30_000} { // or the range begins ahead of the clock
		seen := map[int64]bool{}
		for worker := range int64(32) {
			b := newBench(t, snowflake.Layout{})
			b.adopt(t, Range{Worker: worker, Floor: t0 + ahead - 1, Ceiling: t0 + ahead + 1000, Now: t0})
			seen[b.next(t).Sequence&4095] = true
		}
		require.Greater(t, len(seen), 28)
	}
}

func TestLeadIsBounded(t *testing.T) {
	b := newBench(t, snowflake.JSSafe(), WithMaxAhead(10*time.Millisecond))
	b.adopt(t, lent(1, t0, time.Minute))
	ids := make([]int64, 11*64) // ticks 0..10 whole
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	n := 0
	for ; ; n++ {
		if _, _, tm := b.take(1); b.last.Load()>>b.seqBits > b.tick(tm, b.mono())+10 {
			t.Fatal("lead beyond MaxAhead")
		}
		if _, k, _ := b.take(0); k == 0 && b.last.Load()&b.seqMask == b.seqMask && b.last.Load()>>b.seqBits == b.tick(b.term.Load(), b.mono())+10 {
			break
		}
	}
	require.LessOrEqual(t, n, len(ids))
	require.Equal(t, 10*time.Millisecond, b.Lead())
	require.Zero(t, b.Waits())
	_, err := b.NextID() // the clock does not move, so one tick of sleep is not enough
	require.ErrorIs(t, err, ErrExhausted)
	err = b.NextIDs(ctx, ids)
	require.ErrorIs(t, err, ErrExhausted)
	require.Equal(t, int64(2), b.Waits())
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, make([]int64, len(ids)), ids, "nothing is left half-written")
	b.advance(time.Millisecond)
	b.next(t)
}

func TestBatchIsOneReservation(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.adopt(t, lent(3, t0, time.Minute))
	var cas int
	b.at = func(p point) {
		if p == loadedLast {
			cas++
		}
	}
	ids := make([]int64, 1_000_000)
	require.NoError(t, b.NextIDs(t.Context(), ids))
	require.Equal(t, 1, cas)
	for i := 1; i < len(ids); i++ {
		if ids[i-1] >= ids[i] {
			t.Fatalf("%d, then %d", ids[i-1], ids[i])
		}
	}
	require.Equal(t, int64(len(ids)), b.Issued())
	for _, id := range []int64{ids[0], ids[131_071], ids[131_072], ids[999_999]} {
		p, err := b.layout.Decode(id)
		require.NoError(t, err)
		require.Equal(t, int64(3), p.Worker)
	}
}

// TestBatchOfAnyLength checks that a batch takes consecutive values, however much of a
// tick is left.
func TestBatchOfAnyLength(t *testing.T) {
	b := newBench(t, snowflake.Layout{WorkerBits: 3, SequenceBits: 4})
	b.adopt(t, lent(3, t0, time.Minute))
	for n := range 40 {
		last := b.last.Load()
		ids := make([]int64, n)
		require.NoError(t, b.NextIDs(t.Context(), ids))
		for i, id := range ids {
			p, err := b.layout.Decode(id)
			require.NoError(t, err)
			v := (p.Time.UnixMilli()-b.layout.Epoch)<<b.seqBits | p.Sequence
			if n == 1 { // the first one begins its tick
				last = v - 1
			}
			require.Equal(t, last+1+int64(i), v, "id %d of %d", i, n)
		}
	}
}

func TestExtendOnlyWhatItRenewed(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	r := lent(1, t0, time.Second)
	b.adopt(t, r)
	next, other := lent(1, t0, 2*time.Second), lent(2, t0, time.Second)
	require.False(t, b.Extend(other, next), "another grant is in force")
	for name, change := range map[string]func(*Range){
		"a ceiling never falls": func(n *Range) { n.Ceiling = r.Ceiling - 1 },
		"worker":                func(n *Range) { n.Worker++ },
		"higher floor":          func(n *Range) { n.Floor += 500 },
		"lower floor":           func(n *Range) { n.Floor -= 500 },
	} {
		changed := next
		change(&changed)
		require.False(t, b.Extend(r, changed), name)
	}
	require.EqualValues(t, 1, b.next(t).Worker)
	require.True(t, b.Extend(r, next))
	require.False(t, b.Extend(r, next), "a reply that comes late")
	b.adopt(t, other)
	require.False(t, b.Extend(next, next), "the worker id changed")
	b.Stop()
	require.False(t, b.Extend(other, next), "a stopped generator is not revived")
	_, err := b.NextID()
	require.ErrorIs(t, err, ErrClosed)
}

func TestSwapToALowerWorkerRises(t *testing.T) {
	b := newBench(t, snowflake.Layout{})
	b.adopt(t, lent(20, t0, time.Minute))
	before, err := b.NextID()
	require.NoError(t, err)
	used := b.adopt(t, lent(3, t0, time.Minute)) // within the same tick
	require.Equal(t, int64(t0), used)
	after, err := b.NextID()
	require.NoError(t, err)
	require.Greater(t, after, before)
}

func TestLastUsedIsTheEndOfTheLastTick(t *testing.T) {
	b := newBench(t, snowflake.Layout{TimeUnit: 10 * time.Millisecond})
	r := lent(1, t0, time.Minute)
	b.adopt(t, r)
	b.advance(125 * time.Millisecond)
	p := b.next(t)
	used := b.Stop()
	require.Equal(t, p.Time.UnixMilli()+9, used)
	first, _ := b.layout.Ticks(used, used+1000)
	require.Greater(t, b.layout.TickTime(first), p.Time, "a successor has a later tick")

	unused := newBench(t, snowflake.Layout{})
	unused.adopt(t, r)
	require.Equal(t, r.Floor, unused.Stop(), "nothing used: the floor")
	require.Zero(t, newBench(t, snowflake.Layout{}).Stop(), "never lent: nothing")
}

func TestRefusedRanges(t *testing.T) {
	b := newBench(t, snowflake.Layout{TimeUnit: time.Second})
	for name, r := range map[string]Range{
		"worker too great": lent(32, t0, time.Minute),
		"worker negative":  lent(-1, t0, time.Minute),
		"empty":            {Worker: 1, Floor: t0, Ceiling: t0, Now: t0},
		"upside down":      {Worker: 1, Floor: t0 + 1, Ceiling: t0, Now: t0},
		"no whole tick":    {Worker: 1, Floor: t0, Ceiling: t0 + 900, Now: t0},
		"before the epoch": {Worker: 1, Floor: 0, Ceiling: 1000, Now: 1000},
	} {
		_, err := b.Adopt(r)
		require.Error(t, err, name)
	}
	_, err := b.NextID()
	require.ErrorIs(t, err, ErrNotStarted)
}
