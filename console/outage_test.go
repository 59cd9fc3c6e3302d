package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
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
)

// An outage of two minutes: the page says when ids stop before they do, then since when
// there are none, and why. The list of holders and the rate remain.
func TestOutage(t *testing.T) {
	anight(t, idworker.Config{}, func(n *night) {
		n.until("23:08:40")
		n.says("green", "ok", "issues ids; the lease is renewed")
		require.Equal(n, http.StatusOK, get(n, n.page, "/api/slots").Code)
		ceiling := n.worker.Status().Ceiling
		n.down()

		n.ceiling(-18 * time.Second)
		since := n.worker.Status().FailingSince.UTC().Format(time.TimeOnly)
		n.says("amber", "failing", "ids stop in 18 s: renewals have failed since "+since+" UTC")
		n.ceiling(-8 * time.Second)
		n.says("amber", "failing", "ids stop in 8 s: renewals have failed since "+since+" UTC")
		o := n.outlook()
		require.Equal(n, "Make mysql db:3306/shop reachable again. The worker retries renewals.", o.Do)
		require.Equal(n, ceiling.UnixMilli(), o.Until.UnixMilli())
		require.Equal(n, since, o.Since.Format(time.TimeOnly))
		page := get(n, n.page, "/").Body.String()
		for _, want := range []string{
			"<title>Warning: orders · idworker</title>", `href="icon.svg?level=amber"`, "Last error:</strong> dial tcp 10.0.3.7:3306: connect: connection refused",
			"<dd>orders-7d9f8c6b5-x2kqz</dd>", "<dd>orders</dd>",
		} {
			require.Contains(n, page, want)
		}
		require.Regexp(n, `<dt>Started</dt><dd>(8|9) min \d+ s ago</dd>`, page)
		require.NotContains(n, page, "Leases lost")

		n.ceiling(123 * time.Second)
		n.says("red", "stopped", "no ids since "+ceiling.UTC().Format(time.TimeOnly)+" UTC (2 min 3 s): the lease has expired; renewals have failed since "+since+" UTC")
		page = get(n, n.page, "/").Body.String()
		require.Contains(n, page, "<title>No ids: orders · idworker</title>")
		require.Regexp(n, `As of 23:08:40 UTC, 2 min \d+ s ago; the store does not answer: dial tcp`, page)
		require.Contains(n, page, "orders@orders-7d9f8c6b5-8w4tn:1", "a holder as last seen")
		require.Regexp(n, `(?s)orders-7d9f8c6b5-8w4tn:1.{0,400}2 min \d+ s ago</time></td></tr>`, page, "its lease has ended meanwhile")
		require.Contains(n, page, "no ids could be issued")

		rec := get(n, n.page, "/api/slots")
		require.Equal(n, http.StatusBadGateway, rec.Code)
		var list struct {
			Seen  time.Time
			Error string
			Slots []struct{ Holder string }
		}
		require.NoError(n, json.Unmarshal(rec.Body.Bytes(), &list))
		require.Equal(n, "23:08:40", list.Seen.Format(time.TimeOnly))
		require.Contains(n, list.Error, "connection refused")
		require.Equal(n, "orders@orders-7d9f8c6b5-8w4tn:1", list.Slots[0].Holder)

		n.up()
		n.ceiling(138 * time.Second)
		n.says("green", "ok", "issues ids; the lease is renewed")
		page = get(n, n.page, "/").Body.String()
		require.NotContains(n, page, "does not answer")
		require.Contains(n, page, "<title>OK: orders · idworker</title>")
	})
}

// While the store hangs, the page has the last list at once, and nothing else waits for it.
func TestPageWhileTheStoreHangs(t *testing.T) {
	anight(t, idworker.Config{}, func(n *night) {
		get(n, n.page, "/")
		n.until("23:08:40")
		n.center.Intercept(func(ctx context.Context, _ string, _ bool) error {
			<-ctx.Done()
			return ctx.Err()
		})
		for _, want := range []string{`8w4tn:1</td>`, `As of 23:00:00 UTC, 8 min \d+ s ago; the store does not answer: .*deadline exceeded`} {
			began := time.Now()
			page := get(n, n.page, "/").Body.String()
			require.LessOrEqual(n, time.Since(began), 200*time.Millisecond)
			require.Regexp(n, want, page)
			for _, other := range []string{"/api/status", "/parts/live"} {
				require.Equal(n, http.StatusOK, get(n, n.page, other).Code)
			}
			require.LessOrEqual(n, time.Since(began), 200*time.Millisecond)
			time.Sleep(4 * time.Second) // the answer is in, and old
		}
		require.Equal(n, http.StatusBadGateway, get(n, n.page, "/api/slots").Code)
	})
}

// The five states as a real worker comes into them.
func TestScenes(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			anight(t, s.cfg, func(n *night) {
				s.play(n)
				o := n.outlook()
				require.Equal(n, []string{s.level, s.name}, []string{o.Level, o.Kind})
				require.Regexp(n, s.text, o.Text)
				require.Equal(n, s.level != "green", o.Do != "")
				require.Equal(n, s.name != "ok", o.Link != "")
			})
		})
	}
}

// What the outlook says in each state, for each cause.
func TestOutlook(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 20, 23, 8, 52, 0, time.UTC)
	late := func(s float64) time.Time { return now.Add(time.Duration(s * float64(time.Second))) }
	away := errors.New("connection refused")
	quarantine := &lease.QuarantineError{Namespace: "orders", Reason: "the run_id changed", Now: now, Until: late(1.8)}
	forever := &lease.QuarantineError{Namespace: "orders", Reason: "a mark", Now: now, Until: now.AddDate(3, 0, 0)}
	full := &lease.NoFreeWorkerError{Namespace: "orders", First: 0, Last: 31, Now: now, Soonest: late(12)}
	held := snowlease.Status{State: snowlease.StateReady, Center: "mysql db", Worker: 3, Now: now, Floor: late(-900), Ceiling: late(22), Renewed: late(-8)}
	with := func(st snowlease.Status, change func(*snowlease.Status)) snowlease.Status {
		change(&st)
		return st
	}
	failing := func(state snowlease.State, ceiling float64, err error) snowlease.Status {
		return with(held, func(st *snowlease.Status) {
			st.State, st.Ceiling, st.Err, st.FailingSince, st.Renewed = state, late(ceiling), err, late(-5), late(ceiling-30)
		})
	}
	counted := func(state snowlease.State, atHand int64, err error) snowlease.Status {
		st := snowlease.Status{State: state, Center: "redis", Worker: 0, Sequence: &snowlease.Sequence{AtHand: atHand}, Err: err}
		if err != nil {
			st.FailingSince = late(-5)
		}
		return st
	}
	for name, tt := range map[string]struct {
		st      snowlease.Status
		healthy error
		level   string
		kind    string
		text    string
		do      string // part of it
	}{
		"renewed":            {held, nil, "green", "ok", "issues ids; the lease is renewed", ""},
		"healthy meanwhile":  {held, snowlease.ErrLeaseExpired, "green", "ok", "issues ids; the lease is renewed", ""},
		"unknown":            {held, errors.New("the time field has ended"), "red", "stopped", "no ids: the time field has ended", ""},
		"renewals fail":      {failing(snowlease.StateReady, 7.5, away), nil, "amber", "failing", "ids stop in 8 s: renewals have failed since 23:08:47 UTC", "Make mysql db reachable again"},
		"a call hangs":       {with(held, func(st *snowlease.Status) { st.Renewed, st.Ceiling = late(-16), late(14) }), nil, "amber", "failing", "ids stop in 14 s: the lease was last renewed 23:08:36 UTC", "Make mysql db reachable again"},
		"quarantined, holds": {failing(snowlease.StateReady, 7.5, quarantine), nil, "amber", "failing", "ids stop in 8 s: the center lends again in 2 s: the run_id changed", "Nothing"},
		"mismatch":           {failing(snowlease.StateReady, 7.5, &lease.MismatchError{}), nil, "amber", "failing", "ids stop in 8 s: renewals have failed since 23:08:47 UTC", "one configuration"},
		"clock":              {failing(snowlease.StateBorrowing, 7.5, &lease.ClockError{}), nil, "amber", "lost", "ids stop in 8 s: the lease was lost, and attempts to borrow one have failed since 23:08:47 UTC", "NTP"},
		"setup":              {failing(snowlease.StateBorrowing, 7.5, lease.ErrSetup), nil, "amber", "lost", "ids stop in 8 s: the lease was lost, and attempts to borrow one have failed since 23:08:47 UTC", "setup"},
		"lost":               {failing(snowlease.StateBorrowing, 7.5, lease.ErrLost), nil, "amber", "lost", "ids stop in 8 s: the lease was lost, and the process borrows another worker id", "Nothing"},
		"lost, full":         {failing(snowlease.StateBorrowing, 7.5, full), nil, "amber", "lost", "ids stop in 8 s: the lease was lost, and all 32 worker ids are lent; the first may be free in 12 s", "fewer replicas"},
		"lost, quarantined":  {failing(snowlease.StateQuarantined, 7.5, quarantine), nil, "amber", "lost", "ids stop in 8 s: the lease was lost, and the center lends again in 2 s: the run_id changed", "Nothing"},
		"ahead":              {with(held, func(st *snowlease.Status) { st.Floor, st.Ceiling = late(19.2), late(49) }), nil, "green", "ahead", "issues ids, whose times the clock reaches in 20 s: the namespace is new, or mysql db was restarted or restored, and new ids lie above all ids of leases that it may have lost", ""},
		"first start": {with(held, func(st *snowlease.Status) {
			st.Floor, st.Ceiling, st.Reason = late(19.2), late(49), lease.NothingOnRecord
		}), nil, "green", "ahead", "issues ids, whose times the clock reaches in 20 s: the namespace is new, which is normal for its first ids", ""},
		"ahead, after a loss": {with(held, func(st *snowlease.Status) {
			st.Floor, st.Ceiling, st.Reason = late(19.2), late(49), "2 of 32 marks were missing"
		}), nil, "green", "ahead", "issues ids, whose times the clock reaches in 20 s: mysql db may have lost leases (2 of 32 marks were missing), and new ids lie above all of their ids", ""},
		"expired": {failing(snowlease.StateExpired, -123, away), snowlease.ErrLeaseExpired, "red", "stopped", "no ids since 23:06:49 UTC (2 min 3 s): the lease has expired; renewals have failed since 23:08:47 UTC", "Make mysql db reachable again"},
		"expired yesterday": {
			with(failing(snowlease.StateExpired, -86400, away), func(st *snowlease.Status) { st.FailingSince = late(-86420) }), snowlease.ErrLeaseExpired, "red", "stopped",
			"no ids since 2026-11-19 23:08:52 UTC (24 h 0 min): the lease has expired; renewals have failed since 2026-11-19 23:08:32 UTC", "Make mysql db reachable again",
		},
		"frozen": {with(held, func(st *snowlease.Status) {
			st.State, st.Ceiling, st.Renewed = snowlease.StateExpired, late(-3), late(-33)
		}), snowlease.ErrLeaseExpired, "red", "stopped", "no ids since 23:08:49 UTC (3 s): the lease has expired", "Make mysql db reachable again"},
		"burst":                {with(held, func(st *snowlease.Status) { st.State = snowlease.StateExpired }), snowlease.ErrLeaseExpired, "red", "stopped", "no ids: a burst has used up the lease up to its end, 23:09:14 UTC", "NextIDWait"},
		"expired, full":        {failing(snowlease.StateExpired, -3, full), snowlease.ErrLeaseExpired, "red", "stopped", "no ids since 23:08:49 UTC (3 s): the lease was lost, and all 32 worker ids are lent; the first may be free in 12 s", "fewer replicas"},
		"expired, quarantined": {failing(snowlease.StateExpired, -3, quarantine), snowlease.ErrLeaseExpired, "red", "waiting", "no ids since 23:08:49 UTC (3 s): the lease was lost, and the center lends again in 2 s: the run_id changed", "Nothing"},
		"no id, away":          {snowlease.Status{State: snowlease.StateNotStarted, Center: "mysql db", Worker: -1, Err: away, FailingSince: late(-5)}, snowlease.ErrNotStarted, "red", "waiting", "no worker id yet: attempts to borrow one have failed since 23:08:47 UTC", "Make mysql db reachable again"},
		"no id, full":          {snowlease.Status{State: snowlease.StateNotStarted, Worker: -1, Err: full, FailingSince: late(-5)}, snowlease.ErrNotStarted, "red", "waiting", "no worker id yet: all 32 worker ids are lent; the first may be free in 12 s", "fewer replicas"},
		"quarantined":          {snowlease.Status{State: snowlease.StateQuarantined, Worker: -1, Err: quarantine, FailingSince: late(-5)}, snowlease.ErrNotStarted, "amber", "waiting", "no worker id yet: the center lends again in 2 s: the run_id changed", "Nothing"},
		"quarantined, reset":   {snowlease.Status{State: snowlease.StateQuarantined, Worker: -1, Err: quarantine, FailingSince: late(-5), Renewed: late(-9)}, snowlease.ErrNotStarted, "red", "waiting", "no worker id yet: the center lends again in 2 s: the run_id changed", "Nothing"},
		"late mark":            {snowlease.Status{State: snowlease.StateQuarantined, Worker: -1, Err: forever, FailingSince: late(-5)}, snowlease.ErrNotStarted, "red", "waiting", "no worker id yet: the center lends again in 3.0 years: a mark", "doctor"},
		"not started":          {snowlease.Status{State: snowlease.StateNotStarted, Worker: -1}, snowlease.ErrNotStarted, "gray", "off", "not started: there is no worker id yet", "OnStart"},
		"reset":                {snowlease.Status{State: snowlease.StateNotStarted, Worker: -1, Renewed: late(-9)}, snowlease.ErrNotStarted, "red", "waiting", "no worker id yet: the process borrows another worker id", "Nothing"},
		"closed":               {with(held, func(st *snowlease.Status) { st.State = snowlease.StateStopped }), snowlease.ErrClosed, "gray", "off", "stopped: the worker was closed and issues no more ids", ""},
		"fixed":                {snowlease.Status{State: snowlease.StateReady, Worker: 7}, nil, "green", "ok", "issues ids; the worker id is fixed, so there is no lease", ""},
		"counted":              {counted(snowlease.StateReady, 0, nil), nil, "green", "ok", "issues ids; Redis counts them, so there is no lease", ""},
		"counted, failing":     {counted(snowlease.StateUnavailable, 1200, away), away, "amber", "failing", "ids stop soon: calls of Redis have failed since 23:08:47 UTC; the 1,200 ids reserved are still issued", "Make redis reachable again"},
		"counted, stopped":     {counted(snowlease.StateUnavailable, 0, away), away, "red", "stopped", "no ids: calls of Redis have failed since 23:08:47 UTC", "Make redis reachable again"},
		"counted, lost":        {with(counted(snowlease.StateQuarantined, 0, quarantine), func(st *snowlease.Status) { st.Sequence.Reserved = 9 }), quarantine, "red", "waiting", "no ids: the center lends again in 2 s: the run_id changed", "Nothing"},
		"counted, quarantined": {counted(snowlease.StateQuarantined, 0, quarantine), quarantine, "amber", "waiting", "no ids: the center lends again in 2 s: the run_id changed", "Nothing"},
	} {
		o := console.NewOutlook(tt.st, tt.healthy, now)
		require.Equal(t, []string{tt.level, tt.kind, tt.text}, []string{string(o.Level), o.Kind, o.Text}, name)
		require.Contains(t, o.Do, tt.do, name)
		require.Equal(t, tt.do == "", o.Do == "", name)
		require.Equal(t, o.Level == "amber" || o.Level == "red" || o.Kind == "ahead", o.Link != "", name)

		// The center's clock may be another one; the text is by this host's.
		if !tt.st.Now.IsZero() && !errors.As(tt.st.Err, new(*lease.QuarantineError)) && !errors.As(tt.st.Err, new(*lease.NoFreeWorkerError)) {
			st := tt.st
			st.Now, st.Floor, st.Ceiling = st.Now.Add(time.Minute), st.Floor.Add(time.Minute), st.Ceiling.Add(time.Minute)
			require.Equal(t, tt.text, console.NewOutlook(st, tt.healthy, now).Text, name)
		}
	}
}

// The links of the outlook lead to headings that exist.
func TestLinksOfTheOutlook(t *testing.T) {
	t.Parallel()
	for _, link := range console.Links() {
		file, anchor, _ := strings.Cut(strings.TrimPrefix(link, "https://github.com/snowlease/snowlease/blob/main/"), "#")
		page, err := os.ReadFile("../" + file)
		require.NoError(t, err)
		heading := regexp.MustCompile(`(?mi)^#+ ` + strings.ReplaceAll(anchor, "-", ",? ") + `$`)
		require.Regexp(t, heading, string(page), link)
	}
}

// A console looks at its worker every 5 s without readers, until nobody uses it.
func TestSampling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := new(atomic.Int64)
		h := console.Of(shown(func() snowlease.Status { calls.Add(1); return snowlease.Status{} }))
		require.EqualValues(t, 1, calls.Load())
		time.Sleep(time.Minute + time.Second)
		require.EqualValues(t, 13, calls.Load())
		runtime.KeepAlive(h)
		runtime.GC()
		time.Sleep(time.Minute)
		require.EqualValues(t, 13, calls.Load(), "it ends with the console")
	})
}

// The rate is that of the last 10 minutes, whoever looks.
func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var issued atomic.Int64
		var expired atomic.Bool
		ceiling := time.Now().Add(time.Hour)
		h := console.Of(shown(func() snowlease.Status {
			state := map[bool]snowlease.State{false: snowlease.StateReady, true: snowlease.StateExpired}[expired.Load()]
			return snowlease.Status{State: state, Namespace: "orders", Worker: 1, Ceiling: ceiling, Issued: issued.Load()}
		}))
		issue := func(d time.Duration, perSecond int64) {
			for range d / time.Second {
				time.Sleep(time.Second)
				issued.Add(perSecond)
			}
			synctest.Wait()
		}
		begin := time.Now()
		issue(10*time.Second-time.Millisecond, 1) // 9 s; samples fall between the steps
		time.Sleep(500 * time.Millisecond)
		issue(5*time.Minute, 1000)
		issue(20*time.Second, 0)
		expired.Store(true)
		issue(30*time.Second, 0)
		expired.Store(false)
		issue(time.Minute, 10)

		got := statusOf(t, h, "").Rate
		require.InDelta(t, 10, got.Now, 2)
		require.InDelta(t, 1000, got.Peak, 1)
		require.WithinDuration(t, begin, got.From, 0)
		require.Len(t, got.History, int(time.Since(begin)/(5*time.Second)))
		page := get(t, h, "/").Body.String()
		require.Contains(t, page, `full height: 1,000/s`)
		bands := regexp.MustCompile(`class="gap" x="[\d.]+" width="([\d.]+)"`).FindAllStringSubmatch(page, -1)
		require.Len(t, bands, 1, "none for the time in which nobody asked")
		width, err := strconv.ParseFloat(bands[0][1], 64)
		require.NoError(t, err)
		require.InDelta(t, 35, width, 5, "30 s of 600, to the samples around")

		issue(10*time.Minute, 10)
		got = statusOf(t, h, "").Rate
		require.Len(t, got.History, 120)
		require.NotContains(t, get(t, h, "/").Body.String(), `class="gap"`)
		require.InDelta(t, 10, got.Peak, 2)
	})
}
