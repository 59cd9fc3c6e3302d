package snowflake

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestLayoutDefaults(t *testing.T) {
	t.Parallel()
	var l Layout
	require.NoError(t, l.Validate())
	require.Equal(t, Layout{Epoch: 1577808000000, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 5, SequenceBits: 17}, l.WithDefaults())
	require.Equal(t, "epoch=1577808000000 unit=1ms bits=41/5/0/17", l.String())
	require.Equal(t, l.String(), l.WithDefaults().String(), "the fingerprint is that of the filled layout")
	require.Equal(t, int64(32), l.Workers())
	require.Equal(t, int64(131072), l.PerTick())
	require.Equal(t, 63, l.Bits())
	require.Equal(t, "2019-12-31T16:00:00Z", l.TickTime(0).UTC().Format(time.RFC3339))
	require.Equal(t, 2089, l.Ends().UTC().Year())

	for _, c := range []struct {
		in   Layout
		want string
	}{
		{Layout{WorkerBits: 10}, "41/10/0/12"},
		{Layout{WorkerBits: 6, BusinessBits: 4}, "41/6/4/12"},
		{Layout{SequenceBits: 12}, "46/5/0/12"},
		{Layout{TimeBits: 39, SequenceBits: 8}, "39/5/0/8"},
		{Layout{WorkerBits: 20, BusinessBits: 1}, "41/20/1/1"},
		{Layout{WorkerBits: 20, BusinessBits: 20, SequenceBits: 10}, "13/20/20/10"},
	} {
		require.NoError(t, c.in.Validate())
		require.Contains(t, c.in.String(), "bits="+c.want)
	}
}

func TestPresets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, want string
		end        int
	}{
		{"", "epoch=1577808000000 unit=1ms bits=41/5/0/17", 2089},
		{"default", "epoch=1577808000000 unit=1ms bits=41/5/0/17", 2089},
		{"Twitter", "epoch=1288834974657 unit=1ms bits=41/10/0/12", 2080},
		{"discord", "epoch=1420070400000 unit=1ms bits=41/10/0/12", 2084},
		{"WIDE", "epoch=1577808000000 unit=1ms bits=41/10/0/12", 2089},
		{"yitter", "epoch=1582136402000 unit=1ms bits=41/6/0/6", 2089},
		{"JSSafe", "epoch=1577808000000 unit=1ms bits=41/6/0/6", 2089},
	} {
		l, err := Preset(c.name)
		require.NoError(t, err)
		require.NoError(t, l.Validate())
		require.Equal(t, c.want, l.String(), c.name)
		require.Equal(t, l, l.WithDefaults(), "a preset has no field left to fill")
		require.Equal(t, c.end, l.Ends().UTC().Year(), c.name)
	}
	_, err := Preset("sonyflake")
	require.ErrorContains(t, err, `"sonyflake" is unknown: choose default, twitter, discord, wide, yitter or jssafe`)
}

func TestLayoutValidate(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		in   Layout
		want []string
	}{
		{"epoch", Layout{Epoch: -2}, []string{"epoch -2 is before 1970"}},
		{"unit below 1ms", Layout{TimeUnit: time.Microsecond}, []string{"time unit 1µs is not a whole number of milliseconds from 1ms to 1h"}},
		{"unit not whole", Layout{TimeUnit: 1500 * time.Microsecond}, []string{"time unit 1.5ms"}},
		{"unit negative", Layout{TimeUnit: -time.Second}, []string{"time unit -1s"}},
		{"unit long", Layout{TimeUnit: 2 * time.Hour}, []string{"time unit 2h0m0s"}},
		{"worker", Layout{WorkerBits: 21, SequenceBits: 1}, []string{"worker bits 21 are not 1 to 20"}},
		{"business", Layout{BusinessBits: 21, SequenceBits: 1}, []string{"business bits 21 are not 0 to 20"}},
		{"sequence wide", Layout{SequenceBits: 32}, []string{"sequence bits 32 are not 1 to 31"}},
		{"no sequence left", Layout{WorkerBits: 12, BusinessBits: 10}, []string{"worker 12 + business 10 bits leave none of 22 for the sequence: set sequence bits, 1 to 31"}},
		{"one mistake", Layout{WorkerBits: 30}, []string{"worker bits 30 are not 1 to 20"}},
		{"no time left", Layout{WorkerBits: 20, BusinessBits: 20, SequenceBits: 23}, []string{"no bits are left for the time"}},
		{"sum", Layout{TimeBits: 42, WorkerBits: 10, SequenceBits: 12}, []string{"time 42 + worker 10 + business 0 + sequence 12 bits are 64: an id has 63"}},
		{"huge sum", Layout{TimeBits: 255, WorkerBits: 255, BusinessBits: 255, SequenceBits: 255}, []string{"worker bits 255", "business bits 255", "sequence bits 255"}},
		{
			"all at once",
			Layout{Epoch: -5, TimeUnit: time.Nanosecond, TimeBits: 60, WorkerBits: 30, BusinessBits: 30, SequenceBits: 40},
			[]string{"epoch -5", "time unit 1ns", "worker bits 30", "business bits 30", "sequence bits 40"},
		},
	} {
		err := c.in.Validate()
		require.Error(t, err, c.name)
		require.Len(t, strings.Split(err.Error(), "\n"), len(c.want), err.Error())
		for _, want := range c.want {
			require.ErrorContains(t, err, want, c.name)
		}
	}
}

func TestCheckTime(t *testing.T) {
	t.Parallel()
	l := Layout{TimeBits: 35, SequenceBits: 12} // about 397 days
	epoch := time.UnixMilli(DefaultEpoch)
	require.NoError(t, l.CheckTime(epoch))
	require.NoError(t, l.CheckTime(l.Ends().Add(-MinLife)))
	require.ErrorContains(t, l.CheckTime(l.Ends().Add(-MinLife+time.Millisecond)), "less than a year from")
	require.ErrorContains(t, l.CheckTime(l.Ends().Add(time.Hour)), "take a later epoch, more bits or longer units")
	require.ErrorContains(t, l.CheckTime(epoch.Add(-time.Millisecond)), "lies after now")
	// A time field beyond the reach of any clock has not run out.
	require.NoError(t, Layout{TimeUnit: time.Hour, SequenceBits: 1}.CheckTime(time.Now()))
}

// With a wide field and long ticks, the end and the last tick saturate.
func TestEndsSaturates(t *testing.T) {
	t.Parallel()
	l := Layout{TimeUnit: time.Hour, SequenceBits: 1, WorkerBits: 1}.WithDefaults()
	require.NoError(t, l.Validate())
	require.Positive(t, l.Ends().UnixMilli())
	_, last := l.Ticks(0, math.MaxInt64)
	require.Positive(t, endOf(l, last))
	require.Equal(t, l.Ends().UnixMilli()-1, endOf(l, last))
	_, err := l.Decode(math.MaxInt64)
	require.ErrorContains(t, err, "its time is beyond the layout")
}

// The Unix epoch is an epoch as others are, although 0 is not set.
func TestUnixEpoch(t *testing.T) {
	t.Parallel()
	l := Layout{Epoch: UnixEpoch, WorkerBits: 10}
	require.NoError(t, l.Validate())
	require.NoError(t, l.CheckTime(time.UnixMilli(DefaultEpoch)))
	require.Equal(t, "epoch=0 unit=1ms bits=41/10/0/12", l.String())
	require.Equal(t, time.UnixMilli(1<<41), l.Ends())
	p, err := l.Decode(DefaultEpoch<<22 | 7<<12 | 5)
	require.NoError(t, err)
	require.Equal(t, Parts{Time: time.UnixMilli(DefaultEpoch), Worker: 7, Sequence: 5}, Parts{p.Time.Local(), p.Worker, p.Business, p.Sequence})
	id, err := l.Encode(p)
	require.NoError(t, err)
	require.Equal(t, int64(DefaultEpoch<<22|7<<12|5), id)
	first, last := l.Ticks(0, 10)
	require.Equal(t, []int64{1, 10}, []int64{first, last})
}

func TestTicks(t *testing.T) {
	t.Parallel()
	const e = DefaultEpoch
	ms := Layout{}
	tens := Layout{TimeUnit: 10 * time.Millisecond}
	for _, c := range []struct {
		l              Layout
		floor, ceiling int64
		first, last    int64
	}{
		{ms, e + 4, e + 9, 5, 9},
		{ms, e + 4, e + 4, 5, 4}, // empty
		{ms, 0, e + 3, 0, 3},     // floors before the epoch
		{ms, 0, e - 1, 0, -1},
		{ms, 0, 5, 0, -1},
		{tens, e - 1, e + 9, 0, 0}, // exactly one tick
		{tens, e, e + 19, 1, 1},    // a tick that begins before the range is excluded
		{tens, e, e + 18, 1, 0},    // so is one that ends after it
		{tens, e + 9, e + 100, 1, 9},
		{tens, e + 10, e + 12, 2, 0},
		{ms, math.MinInt64, math.MaxInt64, 0, 1<<41 - 1},
		{Layout{Epoch: UnixEpoch, TimeUnit: time.Second}, 0, math.MaxInt64, 1, 1<<41 - 1},
		{ms, math.MaxInt64, math.MinInt64, math.MaxInt64 - e + 1, -1},
	} {
		first, last := c.l.Ticks(c.floor, c.ceiling)
		require.Equal(t, [2]int64{c.first, c.last}, [2]int64{first, last}, "%v (%d, %d]", c.l, c.floor, c.ceiling)
	}
}

// Ticks of a range lie wholly within it, no such tick is left out, and adjacent ranges
// share none.
func FuzzTicks(f *testing.F) {
	f.Add(int64(DefaultEpoch), int64(1), int64(DefaultEpoch+10), int64(25), int64(40))
	f.Add(int64(1), int64(10), int64(0), int64(math.MaxInt64), int64(0))
	f.Add(int64(math.MaxInt64), int64(3600000), int64(math.MinInt64), int64(0), int64(math.MaxInt64))
	f.Fuzz(func(t *testing.T, epoch, unit, a, b, c int64) {
		unit = 1 + abs(unit)%3600000
		l := Layout{Epoch: 1 + abs(epoch)%(1<<62), TimeUnit: time.Duration(unit) * time.Millisecond, TimeBits: 41, WorkerBits: 1, SequenceBits: 1}
		require.NoError(t, l.Validate())
		floor, mid, ceiling := min(a, b, c), max(min(a, b), min(max(a, b), c)), max(a, b, c)
		within := func(floor, ceiling int64) (int64, int64) {
			first, last := l.Ticks(floor, ceiling)
			require.GreaterOrEqual(t, first, int64(0))
			require.LessOrEqual(t, last, l.maxTick())
			if first <= last {
				require.Greater(t, l.TickTime(first).UnixMilli(), floor)
				require.LessOrEqual(t, endOf(l, last), ceiling)
				if first > 0 {
					require.LessOrEqual(t, l.TickTime(first-1).UnixMilli(), floor)
				}
				if last < l.maxTick() {
					require.Greater(t, endOf(l, last+1), ceiling)
				}
			}
			return first, last
		}
		first1, last1 := within(floor, mid)
		first2, last2 := within(mid, ceiling)
		if first1 <= last1 && first2 <= last2 {
			require.Less(t, last1, first2)
		}
	})
}

func abs(n int64) int64 {
	if n < 0 {
		return n &^ math.MinInt64
	}
	return n
}

// endOf returns the last millisecond of the tick, as generators tell it.
func endOf(l Layout, tick int64) int64 { return l.TickTime(tick+1).UnixMilli() - 1 }
