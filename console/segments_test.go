package console_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

// sequence is a segment of api/segments.
type sequence struct {
	numbers.Status
	Outlook outlook
	Rate    float64
	Lasts   time.Duration `json:"lasts_ns"`
}

// source are segments whose status changes.
type source func() []numbers.Status

func (s source) Status() []numbers.Status { return s() }

// The page says how many numbers are left, how long they last and when refills began to fail,
// or since when there are none.
func TestSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)))
		var issued atomic.Int64
		var failing time.Time
		h := console.New(console.Config{Numbers: source(func() []numbers.Status {
			invoices := numbers.Status{Name: "invoices", State: numbers.StateReady, Strict: true, Store: "mysql db:3306/shop", FailingSince: failing}
			members := numbers.Status{Name: "members", State: numbers.StateReady, Store: "mysql db:3306/shop", Issued: issued.Load(), Remaining: 1200, Next: 48_001, Last: 49_200, FailingSince: failing}
			if !failing.IsZero() {
				members.Err, members.Error, invoices.State, invoices.Err = errAway, errAway.Error(), numbers.StateWaiting, errAway
			}
			return []numbers.Status{invoices, members}
		}), Workers: []*snowlease.Worker{fixed(t, snowflake.Layout{})}})
		for range 300 { // 20 members a second
			time.Sleep(time.Second)
			issued.Add(20)
		}
		synctest.Wait()
		says := func(i int, level, text string) (q sequence) {
			t.Helper()
			var all []sequence
			decode(t, get(t, h, "/api/segments"), &all)
			require.Equal(t, []string{level, text}, []string{all[i].Outlook.Level, all[i].Outlook.Text})
			for _, page := range []string{"/", "/parts/live"} {
				require.Contains(t, strings.ReplaceAll(get(t, h, page).Body.String(), "\u00a0", " "), "</span> "+text)
			}
			return all[i]
		}
		require.Equal(t, "invoices", says(0, "green", "issues numbers").Name)
		require.InDelta(t, 20, says(1, "green", "issues numbers").Rate, 2)
		require.Contains(t, get(t, h, "/").Body.String(), "<title>OK: local · idworker</title>")

		failing = time.Now()
		says(0, "red", "no numbers: calls of the store have failed since 23:05:00 UTC")
		q := says(1, "amber", "numbers stop after 1,200 more: refills have failed since 23:05:00 UTC")
		require.Equal(t, "Make mysql db:3306/shop reachable again. Numbers resume by themselves, without a restart.", q.Outlook.Do)
		require.True(t, failing.Equal(q.Outlook.Since))
		require.InDelta(t, 60, q.Lasts.Seconds(), 6)
		require.WithinDuration(t, time.Now().Add(q.Lasts), q.Outlook.Until, time.Millisecond)
		page := get(t, h, "/").Body.String()
		for _, want := range []string{
			"<title>No numbers in segment invoices: local · idworker</title>", `href="icon.svg?level=red"`, ">48,001 to 49,200<", "Last error:</strong> " + errAway.Error(),
		} {
			require.Contains(t, page, want)
		}
	})
}

// Without segments nothing on the page speaks of them.
func TestNoSegments(t *testing.T) {
	t.Parallel()
	for _, s := range []interface{ Status() []numbers.Status }{nil, (*idworker.Numbers)(nil), listOf(nil)} {
		h := console.New(console.Config{Numbers: s, Workers: []*snowlease.Worker{fixed(t, snowflake.Layout{})}})
		require.JSONEq(t, "[]", get(t, h, "/api/segments").Body.String())
		require.NotRegexp(t, "api/segments|Small numbers", get(t, h, "/").Body.String())
	}
}

// listOf are segments in a state.
type listOf []numbers.Status

func (l listOf) Status() []numbers.Status { return l }

// What the outlook of a segment says in each state, for each cause.
func TestSegmentOutlook(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 8, 52, 0, time.UTC)
	away := errors.New("connection refused")
	status := func(state numbers.State, left int64, err error) numbers.Status {
		st := numbers.Status{State: state, Store: "mysql db", Remaining: left, Max: 99_999, Err: err}
		if err != nil {
			st.FailingSince = now.Add(-3 * time.Second)
		}
		return st
	}
	strict := func(st numbers.Status) numbers.Status {
		st.Strict = true
		return st
	}
	for _, tt := range []struct {
		st              numbers.Status
		level, text, do string
	}{
		{status(numbers.StateNotStarted, 0, nil), "gray", "not started", "OnStart"},
		{status(numbers.StateClosed, 0, nil), "gray", "closed: issues no more numbers", ""},
		{status(numbers.StateReady, 1200, nil), "green", "issues numbers", ""},
		{strict(status(numbers.StateReady, 0, nil)), "green", "issues numbers", ""},
		{status(numbers.StateReady, 1200, away), "amber", "numbers stop after 1,200 more: refills have failed since 23:08:49 UTC", "Make mysql db reachable again"},
		{status(numbers.StateReady, 1200, numbers.ErrEnd), "amber", "numbers stop after 1,200 more: none is left up to 99,999", "Raise max"},
		{status(numbers.StateReady, 1200, numbers.ErrUnknown), "amber", "numbers stop after 1,200 more: refills have failed since 23:08:49 UTC", "Create the name"},
		{status(numbers.StateReady, 1200, lease.ErrSetup), "amber", "numbers stop after 1,200 more: refills have failed since 23:08:49 UTC", "setup"},
		{strict(status(numbers.StateReady, 0, away)), "amber", "the next call asks the store again: calls of the store have failed since 23:08:49 UTC", "Make mysql db reachable again"},
		{status(numbers.StateWaiting, 0, away), "red", "no numbers: refills have failed since 23:08:49 UTC", "Make mysql db reachable again"},
		{strict(status(numbers.StateWaiting, 0, away)), "red", "no numbers: calls of the store have failed since 23:08:49 UTC", "Make mysql db reachable again"},
		{status(numbers.StateWaiting, 0, numbers.ErrUnknown), "red", "no numbers: refills have failed since 23:08:49 UTC", "Create the name"},
		{status(numbers.StateEnded, 0, numbers.ErrEnd), "red", "no numbers: none is left up to 99,999", "Raise max"},
	} {
		o := console.NewSegmentOutlook(tt.st, 12*time.Second, now)
		require.Equal(t, []string{tt.level, tt.text}, []string{string(o.Level), o.Text})
		require.Contains(t, o.Do, tt.do, tt.text)
		require.Equal(t, tt.do == "", o.Do == "", tt.text)
		require.Equal(t, tt.level == "amber" || tt.level == "red", o.Link != "", tt.text)
		require.Equal(t, tt.level == "amber", o.Until.Equal(now.Add(12*time.Second)), tt.text)
	}
}
