package generator

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

// maxSafe is the greatest integer up to which a JavaScript number holds every integer.
const maxSafe int64 = 1<<53 - 1

// Ids of the JavaScript layouts stay below 2^53 for decades, up to the last one.
func TestIDsFitJavaScriptForDecades(t *testing.T) {
	t.Parallel()
	for name, until := range map[string]time.Time{
		"yitter": time.Date(2089, 10, 26, 10, 7, 37, 551e6, time.UTC),
		"jssafe": time.Date(2089, 9, 6, 7, 47, 35, 551e6, time.UTC),
	} {
		l, err := snowflake.Preset(name)
		require.NoError(t, err)
		last := snowflake.Parts{Time: until, Worker: l.Workers() - 1, Sequence: l.PerTick() - 1}
		id, err := l.Encode(last)
		require.NoError(t, err)
		require.Equal(t, maxSafe, id, "the last id is the greatest safe integer")
		require.Equal(t, id, int64(float64(id)))
		require.Equal(t, until.Add(time.Millisecond), l.Ends().UTC())
		require.GreaterOrEqual(t, until.Year()-time.UnixMilli(l.Epoch).UTC().Year(), 69)
		last.Time = l.Ends()
		_, err = l.Encode(last)
		require.Error(t, err, "no id beyond the end")
		t.Logf("%s: ids below 2^53 until %s", name, until.Format(time.RFC3339))

		// A generator that reaches the end stops below 2^53.
		b := newBench(t, l)
		now := until.UnixMilli() - 10
		b.adopt(t, lent(l.Workers()-1, now, time.Hour))
		var greatest int64
		for id, err := b.NextID(); err == nil; id, err = b.NextID() {
			greatest = id
		}
		require.Equal(t, maxSafe, greatest)
		_, err = b.NextID()
		require.ErrorIs(t, err, ErrExhausted)
	}
}

const burst = 500_000

// rising requires that each id is greater than those before.
func rising(t testing.TB, ids []int64) {
	t.Helper()
	for i := 1; i < len(ids); i++ {
		if ids[i] <= ids[i-1] {
			require.Greater(t, ids[i], ids[i-1], "id %d of %d", i, len(ids))
		}
	}
}

// A burst uses the milliseconds to come, each of them fully. At 64 ids per millisecond
// this one takes 8 s.
func TestBurstRunsAhead(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]snowflake.Layout{"yitter": snowflake.Yitter(), "default": {}} {
		b := newBench(t, l, WithMaxAhead(8*time.Second))
		b.adopt(t, lent(1, t0, time.Minute))
		ids := make([]int64, burst)
		var err error
		for i := range ids {
			if ids[i], err = b.NextID(); err != nil {
				require.NoError(t, err)
			}
		}
		rising(t, ids)
		last, err := l.Decode(ids[burst-1])
		require.NoError(t, err)
		// The first tick begins at a sequence number above 0: see Generator.low.
		ticks := (burst + 1<<b.lowBits - 1 + b.layout.PerTick() - 1) / b.layout.PerTick()
		require.InDelta(t, t0+ticks-1, last.Time.UnixMilli(), 1, "no id of a tick is left out")
		require.Equal(t, time.Duration(last.Time.UnixMilli()-t0)*time.Millisecond, b.Lead())
		t.Logf("%s: %d ids at once, %v ahead of the clock", name, burst, b.Lead())

		// When the clock has caught up, ids carry its time again.
		b.advance(b.Lead() + time.Second)
		require.Equal(t, int64(t0)+b.elapsed.Load()/int64(time.Millisecond), b.next(t).Time.UnixMilli())
	}
}

// A burst beyond the lead waits for the clock and gets the ids of one tick per tick.
func TestBurstWaitsForTheLead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.Yitter()
		l.Epoch = time.Now().UnixMilli() // the clock here begins in 2000, and no epoch lies before
		time.Sleep(time.Hour)
		g, begun := New(l), time.Now()
		_, err := g.Adopt(lent(1, begun.UnixMilli(), time.Minute))
		require.NoError(t, err)
		ids := make([]int64, 0, burst)
		for len(ids) < burst {
			id, err := g.NextIDWait(t.Context())
			ids = append(ids, id)
			p, decodeErr := g.Layout().Decode(id)
			if ahead := time.Until(p.Time); err != nil || decodeErr != nil || ahead > DefaultMaxAhead {
				require.NoError(t, errors.Join(err, decodeErr))
				require.LessOrEqual(t, ahead, DefaultMaxAhead, "the lead is bounded")
			}
		}
		rising(t, ids)
		// Of 7813 ms of ids the last 1001 may lie ahead.
		took := time.Since(begun)
		want := time.Duration(burst/g.Layout().PerTick()) * time.Millisecond
		require.InDelta(t, want-DefaultMaxAhead, took, float64(5*time.Millisecond))
		t.Logf("%d ids in %v, %v of it ahead", burst, took, g.Lead())
	})
}

// However often and far the clock goes back, ids ascend, none repeats, and none runs
// further than MaxAhead ahead of the highest time shown. On real machines the monotonic
// clock does not go back, and the wall clock is not read.
func TestRollbacks(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]func() time.Duration{
		"1ms":   func() time.Duration { return time.Millisecond },
		"100ms": func() time.Duration { return 100 * time.Millisecond },
		"1s":    func() time.Duration { return time.Second },
		"1m":    func() time.Duration { return time.Minute },
		"1h":    func() time.Duration { return time.Hour },
		"any":   func() time.Duration { return time.Millisecond + rand.N(time.Hour) },
	} {
		for _, l := range []snowflake.Layout{snowflake.Yitter(), {}} {
			t.Run(name+"/"+l.String(), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, l)
				b.elapsed.Store(int64(200 * time.Hour))
				r := Range{Worker: 1, Floor: t0 - 1, Ceiling: t0 + (300 * time.Hour).Milliseconds(), Now: t0, At: b.Elapsed()}
				b.adopt(t, r)
				greatest := b.elapsed.Load()
				var ids []int64
				issue := func() {
					for range 50 {
						v, n, tm := b.take(1)
						if n == 0 { // the lead is used up: NextID must fail, not wait for hours
							require.ErrorIs(t, b.why(tm, v), ErrExhausted)
							return
						}
						ids = append(ids, b.id(tm, v))
						require.LessOrEqual(t, v>>b.seqBits, b.tick(tm, greatest)+b.ahead)
					}
				}
				issue()
				for range 100 {
					b.advance(-step())
					issue()
					b.advance(time.Duration(rand.Int64N(int64(5 * time.Millisecond))))
					issue()
				}
				rising(t, ids)
				require.GreaterOrEqual(t, len(ids), 50)
				for _, id := range ids { // of the range's worker, whatever the clock shows
					p, err := b.layout.Decode(id)
					require.NoError(t, err)
					require.Greater(t, p.Time.UnixMilli(), r.Floor)
				}

				// When the clock has caught up, ids carry its time.
				b.elapsed.Store(greatest + int64(time.Minute))
				require.EqualValues(t, t0+time.Minute.Milliseconds(), b.next(t).Time.UnixMilli())
			})
		}
	}
}

// All 64 workers of a Yitter layout together, each with one burst of its own.
func TestSixtyFourWorkersAtOnce(t *testing.T) {
	t.Parallel()
	const each = 5_000
	workers := snowflake.Yitter().Workers()
	require.EqualValues(t, 64, workers)
	all := make([]int64, workers*each)
	var wg sync.WaitGroup
	for w := range workers {
		b := newBench(t, snowflake.Yitter())
		b.adopt(t, lent(w, t0, time.Minute))
		ids := all[w*each : (w+1)*each]
		for half := range 2 { // two callers of each
			wg.Go(func() {
				for i := half; i < each; i += 2 {
					ids[i], _ = b.NextID() // two zeros fail the check below
				}
			})
		}
	}
	wg.Wait()
	for w := range workers {
		for _, id := range all[w*each : (w+1)*each] {
			if id>>6&63 != w || id > maxSafe {
				require.Equal(t, w, id>>6&63)
				require.LessOrEqual(t, id, maxSafe)
			}
		}
	}
	slices.Sort(all)
	rising(t, all)
	require.LessOrEqual(t, (all[len(all)-1]-all[0])>>12, int64(each/64+1), "all of the same milliseconds")
}
