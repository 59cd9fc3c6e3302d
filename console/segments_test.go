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
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/snowflake"
)

// sequence is a segment of api/segments.
type sequence struct {
	segment.Status
	Outlook outlook
	Rate    float64
	Lasts   time.Duration `json:"lasts_ns"`
}

// source are segments whose status changes.
type source func() []segment.Status

func (s source) Status() []segment.Status { return s() }

// The page says how many numbers are left, how long they last and when refills began to fail,
// or since when there are none.
func TestSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)))
		var issued atomic.Int64
		var failing time.Time
		h := console.New(console.Config{Numbers: source(func() []segment.Status {
			invoices := segment.Status{Name: "invoices", State: segment.StateReady, Order: segment.OrderStrict, Store: "mysql db:3306/shop", FailingSince: failing}
			members := segment.Status{Name: "members", State: segment.StateReady, Order: segment.OrderProcess, Store: "mysql db:3306/shop", Issued: issued.Load(), Remaining: 1200, Next: 48_001, Last: 49_200, FailingSince: failing}
			if !failing.IsZero() {
				members.Err, members.Error, invoices.State, invoices.Err = errAway, errAway.Error(), segment.StateWaiting, errAway
			}
			return []segment.Status{invoices, members}
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
		require.Equal(t, "Bring mysql db:3306/shop back, or the way to it. Numbers go on by themselves, without a restart.", q.Outlook.Do)
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
	for _, s := range []interface{ Status() []segment.Status }{nil, (*idworker.Segments)(nil), listOf(nil)} {
		h := console.New(console.Config{Numbers: s, Workers: []*snowlease.Worker{fixed(t, snowflake.Layout{})}})
		require.JSONEq(t, "[]", get(t, h, "/api/segments").Body.String())
		require.NotRegexp(t, "api/segments|Small numbers", get(t, h, "/").Body.String())
	}
}

// listOf are segments in a state.
type listOf []segment.Status

func (l listOf) Status() []segment.Status { return l }

// What the outlook of a segment says in each state, for each cause.
func TestSegmentOutlook(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 8, 52, 0, time.UTC)
	away := errors.New("connection refused")
	status := func(state segment.State, left int64, err error) segment.Status {
		st := segment.Status{State: state, Order: segment.OrderProcess, Store: "mysql db", Remaining: left, Max: 99_999, Err: err}
		if err != nil {
			st.FailingSince = now.Add(-3 * time.Second)
		}
		return st
	}
	strict := func(st segment.Status) segment.Status {
		st.Order = segment.OrderStrict
		return st
	}
	for _, tt := range []struct {
		st              segment.Status
		level, text, do string
	}{
		{status(segment.StateNotStarted, 0, nil), "gray", "not started", "OnStart"},
		{status(segment.StateClosed, 0, nil), "gray", "closed: issues no more numbers", ""},
		{status(segment.StateReady, 1200, nil), "green", "issues numbers", ""},
		{strict(status(segment.StateReady, 0, nil)), "green", "issues numbers", ""},
		{status(segment.StateReady, 1200, away), "amber", "numbers stop after 1,200 more: refills have failed since 23:08:49 UTC", "Bring mysql db back"},
		{status(segment.StateReady, 1200, segment.ErrEnd), "amber", "numbers stop after 1,200 more: none is left up to 99,999", "Raise max"},
		{status(segment.StateReady, 1200, segment.ErrUnknown), "amber", "numbers stop after 1,200 more: refills have failed since 23:08:49 UTC", "Create the name"},
		{status(segment.StateReady, 1200, lease.ErrSetup), "amber", "numbers stop after 1,200 more: refills have failed since 23:08:49 UTC", "setup"},
		{strict(status(segment.StateReady, 0, away)), "amber", "the next call asks the store again: calls of the store have failed since 23:08:49 UTC", "Bring mysql db back"},
		{status(segment.StateWaiting, 0, away), "red", "no numbers: refills have failed since 23:08:49 UTC", "Bring mysql db back"},
		{strict(status(segment.StateWaiting, 0, away)), "red", "no numbers: calls of the store have failed since 23:08:49 UTC", "Bring mysql db back"},
		{status(segment.StateWaiting, 0, segment.ErrUnknown), "red", "no numbers: refills have failed since 23:08:49 UTC", "Create the name"},
		{status(segment.StateEnded, 0, segment.ErrEnd), "red", "no numbers: none is left up to 99,999", "Raise max"},
	} {
		o := console.NewSegmentOutlook(tt.st, 12*time.Second, now)
		require.Equal(t, []string{tt.level, tt.text}, []string{string(o.Level), o.Text})
		require.Contains(t, o.Do, tt.do, tt.text)
		require.Equal(t, tt.do == "", o.Do == "", tt.text)
		require.Equal(t, tt.level == "amber" || tt.level == "red", o.Link != "", tt.text)
		require.Equal(t, tt.level == "amber", o.Until.Equal(now.Add(12*time.Second)), tt.text)
	}
}
