package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease/console"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/snowflake"
)

// numbers is a store of numbers that looks like a database to people, and may be away.
type numbers struct {
	numberstore.Memory
	away atomic.Bool
}

func (n *numbers) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	if n.away.Load() {
		return numberstore.Range{}, errAway
	}
	return n.Memory.Reserve(ctx, r)
}

func (n *numbers) String() string { return "mysql db:3306/shop" }

// sequence is a segment of api/segments.
type sequence struct {
	segment.Status
	Outlook outlook
	Rate    float64
	Lasts   time.Duration `json:"lasts_ns"`
}

func sequences(t testing.TB, h http.Handler) (all []sequence) {
	t.Helper()
	require.NoError(t, json.Unmarshal(get(t, h, "/api/segments").Body.Bytes(), &all))
	return all
}

// An application of fx shows its segments. The page says how many numbers are left, how long
// they last and when refills began to fail, then since when there are none.
func TestSegments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 23, 0, 0, 0, time.UTC)))
		store := &numbers{}
		var s *idworker.Segments
		cfg := idworker.Config{Segments: []segment.Config{
			{Name: "invoices", Order: segment.OrderStrict},
			{Name: "members", Start: 48_001, Step: 600, MinStep: 600, MaxStep: 600},
		}}
		app := fxtest.New(t, fx.NopLogger, idworker.Module, fx.Supply(cfg), fx.Provide(func() segment.Store { return store }), fx.Populate(&s))
		h := console.NewWithSegments(s, fixed(t, snowflake.Layout{}))
		require.Empty(t, sequences(t, h), "none has started")
		require.NotContains(t, get(t, h, "/").Body.String(), "Small numbers")
		require.NoError(t, app.Start(context.Background()))
		defer func() { require.NoError(t, app.Stop(context.Background())) }()
		members, err := s.Of("members")
		require.NoError(t, err)
		invoices, err := s.Of("invoices")
		require.NoError(t, err)
		use := func(d time.Duration) { // 20 members a second
			for range d / time.Second {
				time.Sleep(time.Second)
				for range 20 {
					_, _ = members.NextID()
				}
			}
			synctest.Wait()
		}
		says := func(i int, level, text string) sequence {
			t.Helper()
			q := sequences(t, h)[i]
			require.Equal(t, []string{level, text}, []string{q.Outlook.Level, q.Outlook.Text})
			page := strings.ReplaceAll(get(t, h, "/").Body.String(), "\u00a0", " ")
			require.Contains(t, page, "</span> "+text)
			require.Contains(t, strings.ReplaceAll(get(t, h, "/parts/live").Body.String(), "\u00a0", " "), "</span> "+text)
			return q
		}

		use(5 * time.Minute)
		says(0, "green", "issues numbers")
		q := says(1, "green", "issues numbers")
		require.Equal(t, []string{"invoices", "members"}, []string{sequences(t, h)[0].Name, q.Name})
		require.InDelta(t, 20, q.Rate, 2)
		require.Contains(t, get(t, h, "/").Body.String(), "<title>OK: local · idworker</title>")

		store.away.Store(true)
		use(20 * time.Second)
		_, err = invoices.NextID()
		require.ErrorIs(t, err, errAway)
		st := members.Status()
		since := st.FailingSince.UTC().Format(time.TimeOnly)
		q = says(1, "amber", fmt.Sprintf("numbers stop after %d more: refills have failed since %s UTC", st.Remaining, since))
		require.Equal(t, "Bring mysql db:3306/shop back, or the way to it. Numbers go on by themselves, without a restart.", q.Outlook.Do)
		require.Equal(t, since, q.Outlook.Since.Format(time.TimeOnly))
		require.InDelta(t, float64(st.Remaining)/20, q.Lasts.Seconds(), 3)
		require.WithinDuration(t, time.Now().Add(q.Lasts), q.Outlook.Until, time.Millisecond)
		says(0, "red", "no numbers: calls of the store have failed since 23:05:20 UTC")
		page := get(t, h, "/").Body.String()
		require.Contains(t, page, "<title>No numbers in segment invoices: local · idworker</title>")
		require.Contains(t, page, `href="icon.svg?level=red"`)
		require.Contains(t, strings.ReplaceAll(page, ",", ""), fmt.Sprintf(">%d to %d<", st.Next, st.Last))
		require.Contains(t, page, "Last error:</strong> "+errAway.Error())

		use(time.Minute)
		says(0, "amber", "the next call asks the store again: calls of the store have failed since 23:05:20 UTC")
		says(1, "red", "no numbers: refills have failed since "+since+" UTC")

		store.away.Store(false)
		use(10 * time.Second)
		_, err = invoices.NextID()
		require.NoError(t, err)
		says(0, "green", "issues numbers")
		says(1, "green", "issues numbers")
	})
}

// Without segments nothing on the page speaks of them.
func TestNoSegments(t *testing.T) {
	t.Parallel()
	for _, s := range []interface{ Status() []segment.Status }{nil, (*idworker.Segments)(nil), listOf(nil)} {
		h := console.NewWithSegments(s, fixed(t, snowflake.Layout{}))
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
