package console_test

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"strconv"
	"strings"
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
type shown struct{ st *snowlease.Status }

func (s shown) Status() snowlease.Status { return *s.st }
func (s shown) Healthy(context.Context) error {
	if s.st.State != snowlease.StateReady {
		return snowlease.ErrNotStarted
	}
	return nil
}
func (s shown) Layout() snowflake.Layout { return snowflake.Layout{} }

// x returns where the element of a class begins, in percent of the time line.
func x(t *testing.T, page, class string) float64 {
	t.Helper()
	m := regexp.MustCompile(`class="` + class + `" x1?="([\d.]+)%"`).FindStringSubmatch(page)
	require.NotNil(t, m, "%s in %s", class, page)
	f, err := strconv.ParseFloat(m[1], 64)
	require.NoError(t, err)
	return f
}

func TestTimeLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, timeLine) // no time passes, so the console takes no sample meanwhile
}

func timeLine(t *testing.T) {
	now := time.Now()
	st := snowlease.Status{
		State: snowlease.StateReady, Namespace: "orders", Center: "somewhere", Worker: 3, Token: 9,
		Floor: now.Add(-3 * time.Hour), Since: now.Add(-3 * time.Hour), Renewed: now.Add(-10 * time.Second), Ceiling: now.Add(20 * time.Second),
	}
	page := get(t, console.New(shown{&st}), "/parts/live").Body.String()
	require.Contains(t, page, "◂ floor 3 h 0 min ago", "the floor is far left of the line")
	require.InDelta(t, 0, x(t, page, "spent"), 0)
	require.InDelta(t, 80, x(t, page, "now"), 1, "90 s of 110 s, and margins")
	require.InDelta(t, 97, x(t, page, "edge"), 0.01)
	require.Less(t, x(t, page, "renewal"), x(t, page, "now"))

	st.Lead = 10 * time.Second
	burst := get(t, console.New(shown{&st}), "/parts/live").Body.String()
	require.Less(t, x(t, burst, "spent"), 1.0)
	require.Greater(t, strings.Count(burst, `"spent"`), 0)
	require.NotEqual(t, page, burst, "a burst has used time ahead of now")

	st.State, st.Lead, st.Floor, st.Since = snowlease.StateExpired, 0, now.Add(-50*time.Second), now.Add(-50*time.Second)
	st.Renewed, st.Ceiling = now.Add(-40*time.Second), now.Add(-10*time.Second)
	page = get(t, console.New(shown{&st}), "/parts/live").Body.String()
	require.Contains(t, page, "no ids since ")
	require.InDelta(t, 97, x(t, page, "now"), 0.01)
	require.InDelta(t, 3, x(t, page, "edge"), 95)
	require.Contains(t, page, ">floor<")
	require.InDelta(t, 3, x(t, page, "spent"), 0.01)
	require.NotContains(t, page, "the clock reaches")

	st.State, st.Lead, st.Since, st.Renewed = snowlease.StateReady, 20*time.Second, now, now
	st.Floor, st.Ceiling = now.Add(20*time.Second), now.Add(30*time.Second)
	page = get(t, console.New(shown{&st}), "/parts/live").Body.String()
	require.Regexp(t, `whose times the clock reaches in \d+.s: `, page)
	require.InDelta(t, 3, x(t, page, "now"), 0.01)
	require.Greater(t, x(t, page, "spent"), 40.0)
}

// A new lease starts without the renewals of the old one.
func TestRenewals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, renewals) // no time passes, so the console takes no sample meanwhile
}

func renewals(t *testing.T) {
	st := snowlease.Status{State: snowlease.StateReady, Worker: 3, Token: 9, Ceiling: time.Now().Add(time.Minute)}
	h := console.New(shown{&st})
	seen := func() int {
		var got struct {
			Seen []time.Time `json:"renewals_seen"`
		}
		require.NoError(t, json.Unmarshal(get(t, h, "/api/status").Body.Bytes(), &got))
		return len(got.Seen)
	}
	require.Zero(t, seen())
	for n := range 40 {
		st.Renewed = time.Now().Add(time.Duration(n) * time.Second)
		require.Equal(t, min(n+1, 32), seen())
		require.Equal(t, min(n+1, 32), seen(), "once")
	}
	st.Token++
	require.Equal(t, 1, seen())
}

func TestRedisSequence(t *testing.T) {
	t.Parallel()
	page := get(t, console.New(shown{&snowlease.Status{
		State: snowlease.StateReady, Namespace: "orders", Center: "redis", Sequence: &snowlease.Sequence{Calls: 1234567, AtHand: 99},
	}}), "/").Body.String()
	require.Contains(t, page, "1,234,567")
	require.Contains(t, page, "99 ids")
	require.Contains(t, page, "there is no lease")
}

// unlisted hides the method Slots of a worker.
type unlisted struct{ snowlease.Monitored }

// listed is a worker whose slots come from elsewhere.
type listed struct {
	shown
	lease.Lister
}

// listing lists n slots; the first of them are lent.
type listing struct{ n, lent int }

func (l listing) Slots(context.Context, string) ([]lease.Slot, error) {
	slots := make([]lease.Slot, l.n)
	for i := range slots {
		slots[i] = lease.Slot{Worker: int64(i), Now: 1000}
		if i < l.lent {
			slots[i].Token, slots[i].Holder, slots[i].Expires, slots[i].Mark = 1, "app@host:1", 2000, 2000
		}
	}
	return slots, nil
}

// The number of rows is bounded for large pools.
func TestLargePools(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listing
		rows int
		text string
	}{
		{listing{0, 0}, 0, "Nothing is on record"},
		{listing{128, 100}, 100, "100 of 128"},
		{listing{1024, 300}, 256, "And 44 more"},
		{listing{1 << 14, 1 << 14}, 256, "16384 of 16384"},
	} {
		page := get(t, console.New(listed{shown{&snowlease.Status{Worker: -1}}, tt.listing}), "/parts/slots").Body.String()
		require.Equal(t, tt.rows, strings.Count(page, "<th scope=\"row\""), tt)
		require.Contains(t, page, tt.text)
	}
}

// The JSON of a large pool omits free slots, and all but the first 1,024 others.
func TestLargePoolsAsJSON(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		listing
		slots, left, free int
	}{
		{listing{1024, 3}, 1024, 0, 1021},
		{listing{1025, 3}, 3, 0, 1022},
		{listing{30_000, 2_000}, 1024, 976, 28_000},
	} {
		rec := get(t, console.New(listed{shown{&snowlease.Status{Worker: -1}}, tt.listing}), "/api/slots")
		var got struct {
			Size, Left int
			Counts     map[string]int
			Slots      []struct{ Worker int }
		}
		require.NoError(t, json.Unmarshal(rec.Body.Bytes(), &got))
		require.Len(t, got.Slots, tt.slots)
		require.Equal(t, []int{tt.n, tt.left, tt.lent, tt.free}, []int{got.Size, got.Left, got.Counts["lent"], got.Counts["free"]})
		require.Less(t, rec.Body.Len(), 1<<19)
	}
}

// A lister that hangs delays only requests for slots, until its timeout.
func TestListerHangs(t *testing.T) {
	t.Parallel()
	c := center(t)
	w := open(t, c, "orders@host:1")
	asked := make(chan struct{}, 9)
	c.Intercept(func(ctx context.Context, verb string, after bool) error {
		if verb != "slots" || after {
			return nil
		}
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	h := console.New(w)
	done := make(chan int)
	go func() { done <- get(t, h, "/api/slots").Code }()
	<-asked
	require.Equal(t, http.StatusOK, get(t, h, "/api/status").Code)
	require.Equal(t, http.StatusOK, get(t, h, "/parts/live").Code)
	select {
	case <-done:
		require.Fail(t, "the status waited for the slots")
	default:
	}
	require.Equal(t, http.StatusBadGateway, <-done)
}
