package console_test

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// shown is a worker with any status.
type shown func() snowlease.Status

func (s shown) Status() snowlease.Status { return s() }

func (s shown) Healthy() error {
	if s().State != snowlease.StateReady {
		return snowlease.ErrNotStarted
	}
	return nil
}

func (shown) Layout() snowflake.Layout { return snowflake.Layout{} }

func (shown) Slots(context.Context) ([]lease.Slot, error) { return nil, errors.ErrUnsupported }

// still is a worker whose status does not change.
func still(st snowlease.Status) shown { return func() snowlease.Status { return st } }

// x returns where the element of a class begins, in percent of the time line.
func x(t *testing.T, page, class string) float64 {
	t.Helper()
	m := regexp.MustCompile(`class="` + class + `" x1?="([\d.]+)%"`).FindStringSubmatch(page)
	require.NotNil(t, m, "%s in %s", class, page)
	f, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	return f
}

// No time passes in the bubble, so the console takes no sample meanwhile.
func TestTimeLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		page := func(state snowlease.State, floor, renewed, ceiling, lead time.Duration) string {
			return get(t, console.Of(still(snowlease.Status{
				State: state, Namespace: "orders", Center: "somewhere", Worker: 3, Token: 9, Lead: lead,
				Floor: now.Add(floor), Since: now.Add(min(floor, 0)), Renewed: now.Add(renewed), Ceiling: now.Add(ceiling),
			})), "/parts/live").Body.String()
		}
		held := page(snowlease.StateReady, -3*time.Hour, -10*time.Second, 20*time.Second, 0)
		require.Contains(t, held, "◂ floor 3 h 0 min ago", "the floor is far left of the line")
		require.InDelta(t, 0, x(t, held, "spent"), 0)
		require.InDelta(t, 80, x(t, held, "now"), 1, "90 s of 110 s, and margins")
		require.InDelta(t, 97, x(t, held, "edge"), 0.01)
		require.Less(t, x(t, held, "renewal"), x(t, held, "now"))

		used := regexp.MustCompile(`class="spent" x="0.00%" width="([\d.]+)%"`)
		burst := page(snowlease.StateReady, -3*time.Hour, -10*time.Second, 20*time.Second, 10*time.Second)
		require.Greater(t, used.FindStringSubmatch(burst)[1], used.FindStringSubmatch(held)[1], "a burst has used time ahead of now")

		expired := page(snowlease.StateExpired, -50*time.Second, -40*time.Second, -10*time.Second, 0)
		require.Contains(t, expired, "no ids since ")
		require.InDelta(t, 97, x(t, expired, "now"), 0.01)
		require.InDelta(t, 78.2, x(t, expired, "edge"), 0.01, "40 s of 50 s, and a margin")
		require.Contains(t, expired, ">floor<")
		require.InDelta(t, 3, x(t, expired, "spent"), 0.01)
		require.NotContains(t, expired, "the clock reaches")

		ahead := page(snowlease.StateReady, 20*time.Second, 0, 30*time.Second, 20*time.Second)
		require.Regexp(t, `whose times the clock reaches in \d+.s: `, ahead)
		require.InDelta(t, 3, x(t, ahead, "now"), 0.01)
		require.Greater(t, x(t, ahead, "spent"), 40.0)
	})
}

// A new lease starts without the renewals of the old one.
func TestRenewals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := snowlease.Status{State: snowlease.StateReady, Worker: 3, Token: 9, Ceiling: time.Now().Add(time.Minute)}
		h := console.Of(shown(func() snowlease.Status { return st }))
		seen := func() int { return len(statusOf(t, h, "").Seen) }
		require.Zero(t, seen())
		for n := range 40 {
			st.Renewed = time.Now().Add(time.Duration(n) * time.Second)
			require.Equal(t, min(n+1, 32), seen())
			require.Equal(t, min(n+1, 32), seen(), "once")
		}
		st.Token++
		require.Equal(t, 1, seen())
	})
}

// What the page has instead of a time line, if there is no lease.
func TestPageWithoutALease(t *testing.T) {
	t.Parallel()
	for want, st := range map[string]snowlease.Status{
		"<dd>1,234,567</dd>": {State: snowlease.StateReady, Sequence: &snowlease.Sequence{Calls: 1234567, AtHand: 99}},
		"<dd>99 ids</dd>":    {State: snowlease.StateReady, Sequence: &snowlease.Sequence{AtHand: 99}},
		"Ids are counted in Redis, so there is no lease": {State: snowlease.StateReady, Sequence: &snowlease.Sequence{}},
		"No worker id: NextID returns an error":          {State: snowlease.StateQuarantined, Worker: -1, Err: &lease.QuarantineError{}},
		"the worker id is fixed":                         {State: snowlease.StateReady, Worker: 7},
	} {
		page := get(t, console.Of(still(st)), "/").Body.String()
		require.Contains(t, page, want)
		require.NotContains(t, page, `<svg class="line"`)
		require.NotRegexp(t, `(?i)(<link[^>]*href|src)="?(https?:)?//|@import|style="|<script>| on[a-z]+="`, page, "it loads nothing from other sites")
	}
}
