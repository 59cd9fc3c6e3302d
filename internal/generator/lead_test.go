package generator

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowlease/snowlease/snowflake"
	"github.com/stretchr/testify/require"
)

// A lender is a center as a generator sees it: a settable clock, and a range that it
// extends as centers do.
type lender struct {
	*bench
	t      testing.TB
	offset time.Duration // of its clock from the generator's, which starts at t0
	ttl    time.Duration
	r      Range

	highest time.Duration // the clock, since t0, had it never been set back
	from    int64         // the tick that the lead is measured from
	prev    int64         // the last value
	made    int64         // values
	issued  time.Duration // when the last was made
	gap     time.Duration // the longest time without a value
	pace    float64       // at which the rest of the range must last, in whole ticks
}

func newLender(t testing.TB, l snowflake.Layout, ttl time.Duration, opts ...Option) *lender {
	c := &lender{bench: newBench(t, l, opts...), t: t, ttl: ttl}
	c.r = lent(1, t0, ttl)
	c.r.Grows = c.r.Now
	c.adopt(t, c.r)
	return c
}

// shows returns the clock of the center in Unix ms.
func (c *lender) shows() int64 { return t0 + (c.Elapsed() + c.offset).Milliseconds() }

// renew extends the range to TTL from the center's clock, and never lowers its end.
func (c *lender) renew() {
	next := c.r
	next.Now, next.At = c.shows(), c.Elapsed()
	next.Ceiling = max(next.Ceiling, next.Now+c.ttl.Milliseconds())
	next.Grows = next.Ceiling - c.ttl.Milliseconds()
	require.True(c.t, c.Extend(c.r, next))
	c.r, c.highest = next, max(c.highest, c.Elapsed()+c.offset)
	c.share()
}

// share sets pace for a range that has just been installed.
func (c *lender) share() {
	tm, mono := c.term.Load(), c.mono()
	_, hi := c.layout.Ticks(c.r.Floor, c.r.Ceiling)
	rest := max(0, hi-c.tick(tm, tm.lead(mono))-c.ahead-1)
	wait := (c.r.Grows-c.layout.Epoch)*int64(time.Millisecond)/c.unit - c.tick(tm, mono)
	c.pace = min(fastest, float64(rest-min(rest/2, int64(reserve)/c.unit+1))/float64(max(wait, 1)))
}

// pass advances the clock by d in steps and asks for n ids in each tick. The range is renewed
// as soon as that gives more, when half of it is used, but at most every 250 ms and a call.
func (c *lender) pass(d, step time.Duration, n int64) {
	for ; d > 0; d -= step {
		c.advance(step)
		c.highest += step
		if c.Elapsed()-c.r.At >= 260*time.Millisecond {
			select {
			case <-c.Wanted():
				c.renew()
			default:
				if c.r.Grows > c.r.Now && c.shows() > c.r.Grows {
					c.renew()
				}
			}
		}
		c.want(n * int64(step/c.layout.TimeUnit))
	}
}

// want asks for n ids and checks what it gets.
func (c *lender) want(n int64) {
	lo, hi := c.layout.Ticks(c.r.Floor, c.r.Ceiling)
	first, _ := c.layout.Ticks(t0-1+c.highest.Milliseconds(), c.r.Ceiling)
	tm := c.term.Load()
	c.from = c.tick(tm, tm.lead(c.mono()))
	for n > 0 {
		v, got, _ := c.take(n)
		if got == 0 {
			break
		}
		last := v + got - 1
		if v <= c.prev || v>>c.seqBits < lo || last>>c.seqBits > hi {
			c.t.Fatalf("%d ids from %d on after %d: outside of ticks %d to %d", got, v, c.prev, lo, hi)
		}
		if ahead := last>>c.seqBits - max(first, lo); ahead > c.ahead {
			c.t.Fatalf("an id lies %d ticks above the highest time", ahead)
		}
		c.prev, c.made, c.issued, n = last, c.made+got, c.Elapsed(), n-got
	}
	c.gap = max(c.gap, c.Elapsed()-c.issued)
}

// When the center's clock is set back, ids continue immediately. Their pace lets the rest of
// the range last until the clock has caught up.
func TestCenterSetBack(t *testing.T) {
	t.Parallel()
	const ttl, renewal = 30 * time.Second, 10 * time.Second
	for name, l := range map[string]snowflake.Layout{"default": {}, "jssafe": snowflake.JSSafe(), "yitter": snowflake.Yitter(), "10ms": {TimeUnit: 10 * time.Millisecond, SequenceBits: 8}} {
		for _, back := range []time.Duration{
			5 * time.Millisecond, 100 * time.Millisecond, 500 * time.Millisecond, time.Second, 1500 * time.Millisecond,
			2 * time.Second, 3 * time.Second, 10 * time.Second, 26 * time.Second, time.Minute, time.Hour,
		} {
			for _, share := range []float64{0.1, 10.0 / 64, 2} { // of what the layout holds
				t.Run(fmt.Sprintf("%s/%v/%v", name, back, share), func(t *testing.T) {
					t.Parallel()
					c := newLender(t, l, ttl)
					per := c.layout.PerTick()
					n, unit := int64(share*float64(per)), c.layout.TimeUnit
					for range 3 {
						c.pass(renewal, unit, n)
						c.renew()
					}
					c.pass(renewal, unit, n)
					c.gap, c.made, c.offset = 0, 0, -back
					begun := c.Elapsed()
					// At least two thirds of TTL less MaxAhead are left of the range, and
					// a renewal gives more when the clock shows the last one's time again.
					left := ttl - renewal - time.Duration(c.ahead*c.unit)
					pace := fastest
					if back > renewal {
						pace = min(pace, float64(left-reserve)/float64(back-renewal))
					}
					step := unit * (1 + back/left/10)
					for end := c.r.Ceiling; c.shows() < end; {
						c.renew()
						c.pass(renewal, step, n)
					}
					ticks := float64((c.Elapsed() - begun) / unit)
					t.Logf("longest time without ids %v, lead %v, made %d in %v", c.gap, c.Lead(), c.made, c.Elapsed()-begun)
					require.LessOrEqual(t, c.gap, time.Duration(float64(unit)/pace)+2*step)
					require.GreaterOrEqual(t, float64(c.made), ticks*min(float64(n), pace*float64(per))-float64(per)*float64(step/unit))
				})
			}
		}
	}
}

// lend lends a range of another worker id, above floor.
func (c *lender) lend(worker int64, floor, ceiling int64) {
	c.r = Range{Worker: worker, Floor: floor, Ceiling: ceiling, Now: c.shows(), At: c.Elapsed(), Grows: ceiling - c.ttl.Milliseconds()}
	c.adopt(c.t, c.r)
	c.share()
	c.highest = max(c.highest, c.Elapsed()+c.offset, time.Duration(floor+1-t0)*time.Millisecond)
}

// A range may begin above the center's clock and grow as the clock advances. Ids start
// at its beginning, at full rate.
func TestRangeAboveTheClock(t *testing.T) {
	c := newLender(t, snowflake.JSSafe(), 30*time.Second)
	c.lend(2, t0+29_750, t0+30_000)
	for c.shows() < c.r.Floor+60_000 {
		c.pass(time.Second, time.Millisecond, 10)
		c.renew()
	}
	require.Zero(t, c.gap)
	require.Zero(t, c.Lead())
	c.want(1 << 20)
	require.LessOrEqual(t, c.Lead(), DefaultMaxAhead, "what was left unused is an outage's, not a burst's")

	// Take everything that is available.
	c = newLender(t, snowflake.JSSafe(), 30*time.Second)
	c.lend(2, t0+29_750, t0+30_000)
	c.want(1 << 20)
	require.GreaterOrEqual(t, c.made, int64(64*249))
	seconds := func(from, to int) {
		for second := range to {
			before := c.made
			c.pass(time.Second, time.Millisecond, 64*1000)
			if second >= from {
				require.Greater(t, c.made-before, int64(0.95*64*1000), second)
			}
		}
	}
	seconds(2, 200)
	require.Less(t, c.Lead(), 29*time.Second, "the two clocks meet")
	// All that a burst may run ahead was used up, so it is under another range.
	c.ttl = time.Minute
	c.lend(3, c.shows()+59_750, c.shows()+60_000)
	seconds(0, 5)
}

// The lead clock goes on when a range is dropped or lost and the next one comes from a
// clock that was set back.
func TestLeadGoesOnUnderAnotherRange(t *testing.T) {
	for name, end := range map[string]func(*lender){
		"lost":    func(*lender) {},
		"dropped": func(c *lender) { c.Drop() },
	} {
		t.Run(name, func(t *testing.T) {
			c := newLender(t, snowflake.JSSafe(), 30*time.Second)
			c.pass(20*time.Second, time.Millisecond, 128)
			c.renew()
			c.pass(time.Second, time.Millisecond, 128)
			end(c)
			c.offset = -10 * time.Second
			c.gap = 0
			c.lend(2, c.shows(), c.shows()+30_000)
			c.pass(20*time.Second, time.Millisecond, 128)
			require.LessOrEqual(t, c.gap, 3*time.Millisecond)
		})
	}
}

// A waiter wakes up when the lead clock has advanced by a tick, and not before.
func TestWaitWhileTheCenterIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := snowflake.JSSafe()
		l.Epoch = time.Now().UnixMilli() // the clock here begins in 2000, and no epoch lies before
		time.Sleep(time.Hour)
		g, r := New(l), lent(1, time.Now().UnixMilli(), 30*time.Second)
		_, err := g.Adopt(r)
		require.NoError(t, err)
		back := r
		back.Now -= 257_000 // 28.7 s are left without MaxAhead and the reserve: a tenth of the way
		back.Grows = r.Ceiling
		require.True(t, g.Extend(r, back))
		require.NoError(t, g.NextIDs(t.Context(), make([]int64, 64*1000)))
		for g.Lead() < 258*time.Second {
			_, err := g.NextID()
			require.NoError(t, err)
		}
		ids, waits, begun := make([]int64, 64*100), g.Waits(), time.Now()
		require.NoError(t, g.NextIDs(t.Context(), ids))
		require.InDelta(t, time.Second, time.Since(begun), float64(20*time.Millisecond))
		require.LessOrEqual(t, g.Waits()-waits, int64(101))
	})
}

// Whatever the center's clock does between renewals, and whatever it lends, ids ascend,
// lie in the range and run no further ahead than MaxAhead. They come at the pace at
// which the rest of the range lasts.
func FuzzCenterSetBack(f *testing.F) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		ops := make([]byte, 2+2*random.IntN(12))
		for i := range ops {
			ops[i] = byte(random.Uint32())
		}
		f.Add(ops)
	}
	layouts := []snowflake.Layout{{}, snowflake.JSSafe(), {TimeUnit: 10 * time.Millisecond, SequenceBits: 8}, {SequenceBits: 1, TimeBits: 41}}
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) < 2 {
			return
		}
		l := layouts[int(ops[0])%len(layouts)].WithDefaults()
		unit := l.TimeUnit
		c := newLender(t, l, 1000*unit, WithMaxAhead(time.Duration(2+ops[1]%20)*unit))
		all := c.layout.PerTick() * (c.ahead + 2)
		for ; len(ops) >= 2; ops = ops[2:] {
			op, arg := ops[0], int64(ops[1])
			switch op % 4 {
			case 0, 1:
				c.want(all)
				if op%4 == 1 {
					// The steps are of some ticks, of seconds of 1 ms, or of many TTLs.
					c.offset += time.Duration(arg-128) * unit * []time.Duration{1, 16, 256, 65536}[op/4%4]
					c.renew()
				}
				c.want(all)
				// Ranges that replace one another immediately end a tick each, beyond the lead.
				beyond := max(0, c.last.Load()>>c.seqBits-c.ahead-c.from)
				c.issued = c.Elapsed()
				for range arg {
					c.advance(unit)
					c.highest += unit
					c.want(all)
					if c.shows() >= c.r.Grows || c.pace <= 0 { // the next renewal gives more
						break
					}
					if float64(c.Elapsed()-c.issued) > float64(2*unit)+float64((1+beyond)*int64(unit))/c.pace {
						t.Fatalf("no ids for %v, at a pace of %v", c.Elapsed()-c.issued, c.pace)
					}
				}
			case 2: // lost; another range, which may begin above the clock, and in a later tick
				floor := max(c.r.Ceiling, c.shows()-1) + (arg-128)*int64(op/4)
				floor = max(floor, c.shows()-1)
				c.lend((c.r.Worker+1)%c.layout.Workers(), floor, max(floor+c.ttl.Milliseconds()/100*arg/16, floor+2*unit.Milliseconds()))
			case 3:
				c.Drop()
				c.lend((c.r.Worker+1)%c.layout.Workers(), c.shows()-1, c.shows()+c.ttl.Milliseconds())
			}
		}
	})
}
