package counter_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// The rules test single runs of the script, on a miniredis whose clock only Sleep moves.

// phpLayout is the layout of a PHP service with its sequence in Redis. One tick has 4,096
// values.
var phpLayout = snowflake.Layout{Epoch: 1556985600000, TimeUnit: time.Millisecond, TimeBits: 41, WorkerBits: 5, BusinessBits: 5, SequenceBits: 12}

const perTick = 4096

// sequenceConfig has a quarantine of 5 ms and up to a tick, which is 1 ms.
func sequenceConfig(changes ...func(*counter.Config)) counter.Config {
	c := counter.Config{Namespace: "orders", Layout: phpLayout, Worker: 1, MaxAhead: 10 * time.Millisecond, Skew: 5 * time.Millisecond}
	for _, change := range changes {
		change(&c)
	}
	return c
}

// A rig is a Redis and the test of a rule there.
type rig struct {
	*redistest.Store
	t testing.TB
}

func (r rig) member(changes ...func(*counter.Config)) *counter.Counter {
	r.t.Helper()
	m, err := counter.New(r.Client(r.t), sequenceConfig(changes...), r.Options...)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, m.Close()) })
	return m
}

// opened returns a member of a namespace whose clock has passed its first quarantine by a
// microsecond.
func (r rig) opened(changes ...func(*counter.Config)) *counter.Counter {
	r.t.Helper()
	m := r.member(changes...)
	r.requireQuarantine(m)
	r.Sleep(time.Duration(r.field("quar")-r.now()+1) * time.Microsecond)
	return m
}

// sitOut requires a quarantine and moves the clock to its end. It adds the loss by
// rounding, because the lead counts half of each microsecond.
func (r rig) sitOut(m *counter.Counter) {
	r.t.Helper()
	until := r.requireQuarantine(m).Until.UnixMicro()
	r.Sleep(time.Duration(until-r.now())*time.Microsecond - 2*time.Millisecond)
	r.requireQuarantine(m)
	r.Sleep(2*time.Millisecond + 2*time.Microsecond)
}

// goesOn sits out a quarantine and requires the next value to be above last.
func (r rig) goesOn(m *counter.Counter, last int64) (first int64) {
	r.t.Helper()
	r.sitOut(m)
	first, _ = r.reserve(m, 1)
	require.Greater(r.t, first, last)
	return first
}

func (r rig) requireQuarantine(m *counter.Counter) *lease.QuarantineError {
	r.t.Helper()
	_, _, err := m.Reserve(r.t.Context(), 1)
	var q *lease.QuarantineError
	require.ErrorAs(r.t, err, &q)
	return q
}

// sameWall gives m the clock of Redis.
func (r rig) sameWall(m *counter.Counter) {
	m.SetWall(func() time.Time { return time.UnixMicro(r.now()) })
}

// now returns the clock of Redis in microseconds.
func (r rig) now() int64 { return r.Admin.Time(r.t.Context()).Val().UnixMicro() }

// tick returns the current tick.
func (r rig) tick() int64 { return r.now()/1000 - phpLayout.Epoch }

const sequenceKey = "snowlease:{orders}:sequence"

func (r rig) field(name string) int64 {
	r.t.Helper()
	n, err := strconv.ParseInt(r.Admin.HGet(r.t.Context(), sequenceKey, name).Val(), 10, 64)
	require.NoError(r.t, err, name)
	return n
}

// reserve returns the first and the last of up to n values.
func (r rig) reserve(m *counter.Counter, n int64) (first, last int64) {
	r.t.Helper()
	first, got, err := m.Reserve(r.t.Context(), n)
	require.NoError(r.t, err)
	return first, first + got - 1
}

// useUp reserves all values within MaxAhead, and returns the last one.
func (r rig) useUp(m *counter.Counter) int64 {
	r.t.Helper()
	_, last := r.reserve(m, 1<<30)
	r.exhausted(m)
	return last
}

func (r rig) exhausted(m *counter.Counter) {
	r.t.Helper()
	_, _, err := m.Reserve(r.t.Context(), 1)
	require.ErrorIs(r.t, err, generator.ErrExhausted)
}

// start starts m within a second, because a quarantine never ends on a stopped clock.
func (r rig) start(m *counter.Counter) error {
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Second)
	defer cancel()
	return m.Start(ctx)
}

// sequenceRules are the promises of counter.lua, each with its test.
var sequenceRules = map[string]func(r rig){
	"a new namespace waits for Skew and the end of a tick": func(r rig) {
		for _, into := range []int64{0, 1, 400, 999} { // of a tick, in microseconds
			r.Wipe(r.t)
			r.Sleep(time.Duration(1000-r.now()%1000+into) * time.Microsecond)
			start := r.now()
			q := r.requireQuarantine(r.member())
			require.Equal(r.t, int64(16_000), r.field("quar")-start)
			require.Contains(r.t, q.Reason, "nothing is on record")
			require.Equal(r.t, start-into+6_000, q.Until.UnixMicro())
			r.Sleep(time.Duration(6_000-into-1) * time.Microsecond)
			r.requireQuarantine(r.member())
			r.Sleep(time.Microsecond)
			first, last := r.reserve(r.member(), 1<<20)
			require.Equal(r.t, (r.tick()+10)*perTick+1, first, "above all that may have been forgotten")
			require.Equal(r.t, (r.tick()+11)*perTick-1, last, "within the lead")
			r.exhausted(r.member())
			r.Sleep(time.Millisecond)
			next, _ := r.reserve(r.member(), 1)
			require.Equal(r.t, last+1, next)
		}
	},
	"exact times wait for MaxAhead too": func(r rig) {
		exact := func(c *counter.Config) { c.ExactTimes = true }
		q := r.requireQuarantine(r.member(exact))
		until := r.field("quar")
		require.Equal(r.t, until/1000+1, q.Until.UnixMilli())
		r.Sleep(16 * time.Millisecond)
		r.requireQuarantine(r.member(exact))
		r.Sleep(time.Microsecond)
		first, _ := r.reserve(r.member(exact), 1)
		require.Equal(r.t, r.tick(), first/perTick)

		r.Wipe(r.t)
		m := r.member()
		r.sitOut(m)
		r.requireQuarantine(r.member(exact))
		_, last := r.reserve(m, 1)
		first, _ = r.reserve(r.member(exact), 1)
		require.Equal(r.t, last+1, first, "another has ended the wait")
	},
	"loss after loss": func(r rig) {
		last := int64(0)
		for i := range 6 {
			r.Wipe(r.t)
			m := r.member()
			if r.requireQuarantine(m); i%2 == 0 { // a second one immediately
				r.Wipe(r.t)
			}
			r.goesOn(m, last)
			last = r.useUp(m)
			r.Sleep(-5 * time.Millisecond) // Skew
		}
	},
	"values follow each other": func(r rig) {
		m, other := r.opened(), r.member()
		first, last := r.reserve(m, 10)
		require.Equal(r.t, r.tick()*perTick+1, first)
		require.Equal(r.t, first+9, last)
		next, last := r.reserve(other, 1)
		require.Equal(r.t, first+10, next)
		require.Equal(r.t, next, last)
	},
	"a full tick goes on in the next": func(r rig) {
		m := r.opened()
		first, last := r.reserve(m, perTick-2) // 1 to 4094
		require.Equal(r.t, r.tick()*perTick+perTick-2, last)
		_, last = r.reserve(m, 1) // the greatest sequence
		require.Equal(r.t, first+perTick-2, last)
		first, last = r.reserve(m, 2*perTick)
		require.Equal(r.t, (r.tick()+1)*perTick, first)
		require.Equal(r.t, (r.tick()+3)*perTick-1, last)
		first, _ = r.reserve(m, 1)
		require.Equal(r.t, (r.tick()+3)*perTick, first)
	},
	"a new tick starts at the low bits of the last value plus one": func(r rig) {
		m := r.opened()
		_, last := r.reserve(m, 300)
		require.Equal(r.t, int64(300), last%perTick)
		r.Sleep(time.Millisecond)
		first, _ := r.reserve(m, 211)
		require.Equal(r.t, r.tick()*perTick+301%256, first)
		r.Sleep(time.Millisecond)
		first, _ = r.reserve(m, 1)
		require.Equal(r.t, r.tick()*perTick, first, "255 is followed by 0")
	},
	"the lead is MaxAhead": func(r rig) {
		m := r.opened()
		first, last := r.reserve(m, 1<<20)
		require.Equal(r.t, r.tick()*perTick+1, first)
		require.Equal(r.t, (r.tick()+11)*perTick-1, last)
		r.exhausted(m)
		r.Sleep(time.Duration(1000-r.now()%1000-1) * time.Microsecond)
		r.exhausted(m)
		r.Sleep(time.Microsecond)
		first, got := r.reserve(m, 1<<20)
		require.Equal(r.t, last+1, first)
		require.Equal(r.t, last+perTick, got)
		r.exhausted(m)
	},
	"the lead is waited for": func(r rig) {
		m := r.opened()
		r.Sleep(time.Duration(1000-r.now()%1000) * time.Microsecond)
		r.useUp(m)
		r.Sleep(600 * time.Microsecond)
		_, _, err := m.Reserve(r.t.Context(), 1)
		require.Equal(r.t, 400*time.Microsecond, counter.Wait(err))
	},
	"an outage of the lead while the clock is behind ends": func(r rig) {
		m := r.opened()
		r.Sleep(time.Duration(1000-r.now()%1000) * time.Microsecond)
		r.useUp(m)
		r.Sleep(-time.Hour)
		r.exhausted(m)
		for range 2 {
			r.Sleep(700 * time.Millisecond)
			_, _, err := m.Reserve(r.t.Context(), 0)
			require.NoError(r.t, err)
		}
		require.Equal(r.t, int64(700_000), r.field("at")-r.now()-time.Hour.Microseconds()+1_400_000, "at half the pace")
		r.useUp(m)
		r.exhausted(m)
		for range 3 { // none of which reserves anything
			r.Sleep(600 * time.Microsecond)
			_, _, _ = m.Reserve(r.t.Context(), 1)
		}
		at := r.field("at")
		r.Sleep(100 * time.Microsecond)
		r.exhausted(m)
		require.Equal(r.t, at+50, r.field("at"))
	},
	"the time field has an end": func(r rig) {
		m := r.opened()
		end := phpLayout.Ends()
		r.Sleep(time.Until(end) - 100*time.Millisecond)
		r.reserve(m, 1)
		r.Sleep(time.Duration(end.UnixMicro()-r.now()-5000) * time.Microsecond)
		_, last := r.reserve(m, 1<<20)
		require.Equal(r.t, int64(1)<<(41+12)-1, last)
		_, _, err := m.Reserve(r.t.Context(), 1)
		require.ErrorIs(r.t, err, lease.ErrSetup)
		require.ErrorContains(r.t, err, "outside the layout's time field")
		r.Sleep(time.Second)
		_, _, err = m.Reserve(r.t.Context(), 0)
		require.ErrorIs(r.t, err, lease.ErrSetup)
		require.ErrorContains(r.t, err, "outside the layout's time field")
	},
	"the time field has a start": func(r rig) {
		r.Sleep(time.UnixMilli(phpLayout.Epoch).Sub(time.UnixMicro(r.now())) - 20*time.Millisecond)
		_, _, err := r.member().Reserve(r.t.Context(), 1)
		require.ErrorIs(r.t, err, lease.ErrSetup)
		require.ErrorContains(r.t, err, "outside the layout's time field")
	},
	"a clock that is set back": func(r rig) {
		m := r.opened()
		_, last := r.reserve(m, 100)
		r.Sleep(-time.Hour)
		first, _ := r.reserve(m, 1)
		require.Equal(r.t, last+1, first, "ids go on")
		last = r.useUp(m)
		r.Sleep(time.Millisecond * 4)
		_, got := r.reserve(m, 1<<20)
		require.Equal(r.t, last+2*perTick, got, "at half the pace")
		r.Sleep(time.Minute)
		r.exhausted(m)
		r.Sleep(-time.Minute)
		r.exhausted(m)
		last = got
		r.Sleep(2 * time.Hour)
		first, _ = r.reserve(m, 1)
		require.Greater(r.t, first, last)
		require.Equal(r.t, r.tick(), first/perTick, "the clock has caught up")
	},
	"a clock that is set back by less than Skew again and again": func(r rig) {
		m := r.opened()
		r.Sleep(time.Duration(1000-r.now()%1000) * time.Microsecond)
		last := r.useUp(m)
		for range 9 {
			r.Sleep(-4 * time.Millisecond)
			_, _, err := m.Reserve(r.t.Context(), 1)
			require.Equal(r.t, 5*time.Millisecond, counter.Wait(err))
			for range 4 {
				r.Sleep(time.Millisecond)
				r.exhausted(m) // no id lies more than MaxAhead above the latest clock
			}
		}
		r.Sleep(-5 * time.Millisecond)
		r.Wipe(r.t)
		r.goesOn(r.member(), last)
	},
	"a clock that is set back and forth does not run ahead": func(r rig) {
		m := r.opened()
		start := r.tick()
		for range 10 {
			r.Sleep(time.Hour)
			r.reserve(m, 1)
			r.Sleep(-time.Hour)
			r.reserve(m, 1)
		}
		require.LessOrEqual(r.t, r.useUp(m)/perTick, start+time.Hour.Milliseconds()+10)
	},
	"a quarantine that is over stays so": func(r rig) {
		m := r.member()
		r.sitOut(m)
		r.useUp(m)
		r.Sleep(-10 * time.Millisecond)
		r.exhausted(m)
		r.exhausted(r.member(func(c *counter.Config) { c.ExactTimes = true }))
	},
	"what is lost starts a quarantine": func(r rig) {
		for _, field := range []string{"", "pin", "run", "quar", "tick", "seq", "seen", "at"} {
			r.Wipe(r.t)
			m := r.opened()
			last := r.useUp(m)
			r.Sleep(-5 * time.Millisecond) // Skew
			want := "incomplete"
			if field == "" {
				r.Wipe(r.t)
				want = "nothing is on record"
			} else {
				require.EqualValues(r.t, 1, r.Admin.HDel(r.t.Context(), sequenceKey, field).Val())
			}
			newcomer := r.member()
			require.Contains(r.t, r.requireQuarantine(newcomer).Reason, want, field)
			first := r.goesOn(newcomer, last)
			require.Equal(r.t, r.tick()+10, first/perTick)
		}
	},
	"another incarnation starts a quarantine": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		restore := r.Snapshot(r.t)
		last := r.useUp(m)
		r.Sleep(-5 * time.Millisecond)
		restore()
		r.Reincarnate(r.t)
		newcomer := r.member()
		require.Contains(r.t, r.requireQuarantine(newcomer).Reason, "incarnation of the store changed")
		require.Contains(r.t, r.requireQuarantine(newcomer).Reason, "incarnation of the store changed", "the reason is kept")
		r.goesOn(newcomer, last)
		r.Sleep(time.Second)
		r.reserve(newcomer, 1)
	},
	"another incarnation while the clock is behind": func(r rig) {
		m := r.opened()
		r.useUp(m)
		r.Sleep(-10 * time.Second)
		r.exhausted(m)
		restore := r.Snapshot(r.t)
		var last int64
		for range 4 {
			r.Sleep(time.Second)
			last = r.useUp(m)
		}
		restore()
		r.Reincarnate(r.t)
		r.goesOn(r.member(), last)
	},
	"a loss while the clock is behind": func(r rig) {
		m := r.opened()
		r.useUp(m)
		r.Sleep(-time.Hour)
		r.exhausted(m)
		restore := r.Snapshot(r.t)
		r.Sleep(2 * time.Millisecond)
		last := r.useUp(m)
		restore()
		r.Reincarnate(r.t)
		newcomer := r.member()
		wait := r.requireQuarantine(newcomer).Until.UnixMicro() - r.now()
		require.InDelta(r.t, 2*5_500, wait, 2*500+1000, "Skew and the end of a tick, at half the pace")
		r.goesOn(newcomer, last)
	},
	"a second loss prolongs the quarantine": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		r.Reincarnate(r.t)
		r.requireQuarantine(m)
		until := r.field("quar")
		r.Sleep(10 * time.Millisecond)
		r.Reincarnate(r.t)
		r.requireQuarantine(m)
		require.Equal(r.t, until+10_000, r.field("quar"))
		r.Sleep(-10 * time.Second)
		require.EqualValues(r.t, 1, r.Admin.HDel(r.t.Context(), sequenceKey, "at").Val())
		r.requireQuarantine(m)
		require.GreaterOrEqual(r.t, r.field("quar"), until+10_000, "nor cuts it short")
	},
	"the error names an incarnation that flips": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		r.Reincarnate(r.t)
		r.requireQuarantine(m)
		r.Run.Add(-1)
		require.Contains(r.t, r.requireQuarantine(m).Reason, "durable: true")
	},
	"a promotion of the same process starts a quarantine": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		r.Replid.Add(1)
		require.Contains(r.t, r.requireQuarantine(m).Reason, "incarnation of the store changed")
	},
	"an incarnation that comes back later is no flip": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		r.Reincarnate(r.t)
		r.sitOut(m)
		r.reserve(m, 1)
		r.Run.Add(-1)
		require.NotContains(r.t, r.requireQuarantine(m).Reason, "flips")
	},
	"what is lost starts a quarantine without a run_id": func(r rig) {
		r.Options = append(r.Options, redisseq.WithDurable(true))
		m := r.opened()
		r.reserve(m, 1)
		r.Reincarnate(r.t)
		r.reserve(m, 1)
		require.EqualValues(r.t, 1, r.Admin.HDel(r.t.Context(), sequenceKey, "run").Val())
		require.Contains(r.t, r.requireQuarantine(m).Reason, "incomplete")
		r.sitOut(m)
		r.reserve(m, 1)

		r.Options = nil
		require.Contains(r.t, r.requireQuarantine(r.member()).Reason, "was not on record", "it is compared from now on")
	},
	"a caller that knows more does not prolong a quarantine": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		r.Wipe(r.t)
		r.requireQuarantine(r.member())
		until := r.field("quar")
		r.Sleep(5 * time.Millisecond)
		require.Contains(r.t, r.requireQuarantine(m).Reason, "nothing is on record")
		require.Equal(r.t, until, r.field("quar"))
	},
	"a caller that knows more starts a quarantine": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		restore := r.Snapshot(r.t)
		last := r.useUp(m)
		r.Sleep(-5 * time.Millisecond)
		restore()
		require.Contains(r.t, r.requireQuarantine(m).Reason, "not on record")
		newcomer := r.member()
		require.Contains(r.t, r.requireQuarantine(newcomer).Reason, "not on record")
		r.goesOn(newcomer, last)

		// By the sequence alone.
		r.reserve(m, 1)
		restore = r.Snapshot(r.t)
		r.reserve(m, 1)
		restore()
		r.requireQuarantine(m)

		// In the first tick above all that was lost before.
		restore = r.Snapshot(r.t)
		r.sitOut(m)
		r.reserve(m, 1)
		restore()
		until := r.field("quar")
		r.requireQuarantine(m)
		require.Greater(r.t, r.field("quar"), until)
	},
	"a caller that knows more corrects a quarantine": func(r rig) {
		m := r.opened()
		last := r.useUp(m)
		r.Sleep(-time.Minute) // more than Skew
		r.Wipe(r.t)
		newcomer := r.member()
		r.requireQuarantine(newcomer)
		require.Equal(r.t, int64(16_000), r.field("quar")-r.now())
		r.requireQuarantine(m)
		until := r.field("quar")
		require.InDelta(r.t, time.Minute.Microseconds()+16_000, until-r.now(), 1000)
		r.Sleep(time.Millisecond)
		r.requireQuarantine(m)
		require.Equal(r.t, until, r.field("quar"), "once")
		r.goesOn(newcomer, last)
		r.reserve(m, 1)
	},
	"a caller that knows more measures the lead": func(r rig) {
		m, other := r.opened(), r.member()
		r.reserve(m, 1)
		restore := r.Snapshot(r.t)
		r.Sleep(time.Second)
		r.reserve(m, 1)
		_, last := r.reserve(other, 1)
		r.Sleep(-time.Minute) // more than Skew
		restore()
		r.goesOn(m, last)
	},
	"a caller that knows what everybody knows": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		r.reserve(m, 1)
		r.Reincarnate(r.t)
		r.requireQuarantine(m)
		until := r.field("quar")
		r.Sleep(time.Millisecond)
		r.requireQuarantine(m)
		require.Equal(r.t, until, r.field("quar"))
	},
	"members that differ are refused": func(r rig) {
		m := r.opened()
		for name, change := range map[string]func(*counter.Config){
			"layout":    func(c *counter.Config) { c.Layout = snowflake.Layout{} },
			"worker":    func(c *counter.Config) { c.Worker = 2 },
			"max_ahead": func(c *counter.Config) { c.MaxAhead *= 2 },
			"skew":      func(c *counter.Config) { c.Skew *= 2 },
		} {
			before := r.Records(r.t)
			_, _, err := r.member(change).Reserve(r.t.Context(), 1)
			var mismatch *lease.MismatchError
			require.ErrorAs(r.t, err, &mismatch, name)
			require.NotEqual(r.t, mismatch.Asked, mismatch.Stored)
			require.Equal(r.t, before, r.Records(r.t))
		}
		r.reserve(m, 1)
	},
	"a clock far off is refused before anything is written": func(r rig) {
		m := r.member()
		for _, off := range []time.Duration{-lease.MaxClockError - time.Second, lease.MaxClockError + time.Second} {
			m.SetWall(func() time.Time { return time.UnixMicro(r.now()).Add(off) })
			var clock *lease.ClockError
			require.ErrorAs(r.t, r.start(m), &clock)
			require.Equal(r.t, -off, clock.Center.Sub(clock.Local).Round(10*time.Millisecond))
		}
		require.Zero(r.t, r.Admin.DBSize(r.t.Context()).Val())
		r.opened()
		m.SetWall(func() time.Time { return time.UnixMicro(r.now()).Add(lease.MaxClockError - time.Second) })
		require.NoError(r.t, r.start(m))
		m.SetWall(func() time.Time { return time.Time{} })
		_, err := counter.Soon(m)
		require.NoError(r.t, err, "which is looked at by Start alone")
	},
	"the key has no TTL": func(r rig) {
		m := r.opened()
		r.reserve(m, 1)
		require.True(r.t, r.Admin.Expire(r.t.Context(), sequenceKey, time.Hour).Val())
		r.reserve(m, 1)
		require.Equal(r.t, time.Duration(-1), r.Admin.TTL(r.t.Context(), sequenceKey).Val())
		require.EqualValues(r.t, 1, r.Admin.DBSize(r.t.Context()).Val(), "and there is no other")
	},
	"a look reserves nothing": func(r rig) {
		m := r.opened()
		for range 3 {
			_, got, err := m.Reserve(r.t.Context(), 0)
			require.NoError(r.t, err)
			require.Zero(r.t, got)
		}
		first, last := r.reserve(m, 1<<20)
		require.Equal(r.t, int64(1), first%perTick)
		_, _, err := m.Reserve(r.t.Context(), 0)
		require.NoError(r.t, err, "nor does it need a lead")
		r.Sleep(time.Second)
		first, _ = r.reserve(m, 1)
		require.Greater(r.t, first, last)
	},
	"a time that no clock has shown is damage": func(r rig) {
		m := r.opened()
		r.sameWall(m)
		_, last := r.reserve(m, 1)
		far := strconv.FormatInt(r.now()+37*3600*1_000_000, 10)
		tick := strconv.FormatInt(r.tick()+37*3600*1000, 10)
		for _, harm := range [][]any{{"at", far}, {"tick", tick}, {"tick", tick, "at", far}, {"quar", far}, {"seen", "0", "run", ""}, {"tick", tick, "at", far, "seen", far}} {
			was := r.Admin.HGetAll(r.t.Context(), sequenceKey).Val()
			require.NoError(r.t, r.Admin.HSet(r.t.Context(), sequenceKey, harm...).Err())
			before := r.Records(r.t)
			_, _, err := m.Reserve(r.t.Context(), 1)
			require.ErrorIs(r.t, err, lease.ErrDamaged, "%v", harm)
			require.ErrorContains(r.t, err, "delete it")
			require.Equal(r.t, before, r.Records(r.t))
			require.NoError(r.t, r.Admin.HSet(r.t.Context(), sequenceKey, was).Err())
		}
		first, _ := r.reserve(m, 1)
		require.Equal(r.t, last+1, first)
	},
	"the caller's clock counts where TIME was set back": func(r rig) {
		m := r.opened()
		r.sameWall(m)
		_, last := r.reserve(m, 1)
		at := time.UnixMicro(r.now())
		m.SetWall(func() time.Time { return at })
		r.Sleep(-1000 * time.Hour)
		first, _ := r.reserve(m, 1)
		require.Equal(r.t, last+1, first)
		m.SetWall(func() time.Time { return at.Add(-1000 * time.Hour) })
		_, _, err := m.Reserve(r.t.Context(), 1)
		require.ErrorIs(r.t, err, lease.ErrDamaged)
	},
	"deleting the key and a restart end a time far ahead": func(r rig) {
		m := r.opened()
		r.sameWall(m)
		r.Sleep(100 * 24 * time.Hour)
		_, ahead := r.reserve(m, 1)
		r.Sleep(-100 * 24 * time.Hour)
		_, _, err := m.Reserve(r.t.Context(), 1)
		require.ErrorIs(r.t, err, lease.ErrDamaged)
		r.Wipe(r.t)
		_, _, err = m.Reserve(r.t.Context(), 1)
		require.ErrorIs(r.t, err, lease.ErrDamaged)
		m.Forget() // a process that starts again
		r.sitOut(m)
		_, next := r.reserve(m, 1)
		require.Less(r.t, next, ahead)
		require.LessOrEqual(r.t, next/perTick, r.tick()+10)
		again, _ := r.reserve(m, 1)
		require.Equal(r.t, next+1, again)
	},
	"damage is told": func(r rig) {
		m := r.opened()
		for _, field := range []string{"quar", "tick", "seq", "seen", "at"} {
			for _, value := range []string{"", "-1", "1.5", "x", "12345678901234567"} {
				was := r.Admin.HGet(r.t.Context(), sequenceKey, field).Val()
				require.NoError(r.t, r.Admin.HSet(r.t.Context(), sequenceKey, field, value).Err())
				before := r.Records(r.t)
				_, _, err := m.Reserve(r.t.Context(), 1)
				require.ErrorIs(r.t, err, lease.ErrDamaged, "%s %q", field, value)
				require.ErrorContains(r.t, err, fmt.Sprintf("is %q", value))
				require.ErrorContains(r.t, err, "delete it")
				require.Equal(r.t, before, r.Records(r.t))
				require.NoError(r.t, r.Admin.HSet(r.t.Context(), sequenceKey, field, was).Err())
			}
		}
		r.Wipe(r.t)
		require.NoError(r.t, r.Admin.Set(r.t.Context(), sequenceKey, "x", 0).Err())
		_, _, err := m.Reserve(r.t.Context(), 1)
		require.ErrorIs(r.t, err, lease.ErrDamaged)
		require.ErrorContains(r.t, err, "another type")
	},
}

func TestSequenceRules(t *testing.T) {
	t.Parallel()
	for name, rule := range sequenceRules {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rule(rig{redistest.NewMini(t), t})
		})
	}
}

// TestSequenceClockAtALoss: the clock was ahead when ids were issued, and is correct again
// when the records are lost.
func TestSequenceClockAtALoss(t *testing.T) {
	t.Parallel()
	const skew, lead = 2 * time.Second, time.Second
	for _, ahead := range []time.Duration{0, skew, 12 * time.Second} {
		t.Run(ahead.String(), func(t *testing.T) {
			t.Parallel()
			r := rig{redistest.NewMini(t), t}
			defaults := func(c *counter.Config) { c.MaxAhead, c.Skew = lead, skew }
			m := r.opened(defaults)
			r.Sleep(ahead)
			first, last := r.reserve(m, 1<<30)
			require.NoError(t, m.Close())
			r.Sleep(-ahead)
			r.Wipe(t)

			m = r.member(defaults)
			r.sitOut(m)
			next, _ := r.reserve(m, 1)
			if ahead <= skew {
				require.Greater(t, next, last)
				return
			}
			// The limit as it is: the same clock shows the same times again.
			r.Sleep(ahead - skew + lead/2)
			next, _ = r.reserve(m, 1)
			require.Less(t, first, next)
			require.Less(t, next, last)
		})
	}
}

// unique requires that no id repeats.
func unique(t testing.TB, ids []int64) {
	t.Helper()
	ids = slices.Sorted(slices.Values(ids))
	for i := 1; i < len(ids); i++ {
		require.NotEqual(t, ids[i-1], ids[i])
	}
}
