package numbers_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

// A seriesStore is a segmentcheck.Memory with faults. Its clock is of no interest to it unless strict.
type seriesStore struct {
	segmentcheck.Memory
	strict bool
	mu     sync.Mutex
	asked  []numberstore.Request
	fails  error
	late   bool // the next look finds no name
}

func (s *seriesStore) HighWater(ctx context.Context, name string) (int64, error) {
	if s.late {
		s.late = false
		return 0, numbers.ErrUnknown
	}
	return s.Memory.HighWater(ctx, name)
}

func (s *seriesStore) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	s.mu.Lock()
	s.asked = append(s.asked, r)
	fails := s.fails
	s.mu.Unlock()
	if fails != nil {
		return numberstore.Range{}, fails
	}
	if !s.strict {
		r.NotBefore, r.NotAfter = 0, 0
	}
	return s.Memory.Reserve(ctx, r)
}

func (s *seriesStore) requests() []numberstore.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// A clock is the clock of a process.
type clock struct{ at time.Time }

func at(text string) *clock {
	c := &clock{}
	c.set(text)
	return c
}

func (c *clock) set(text string) {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	c.at = t
}

func (c *clock) now() time.Time { return c.at }

// clocked is a Series in a process with a clock of its own.
type clocked struct {
	*numbers.Series
	clock *clock
}

func (s clocked) Next(ctx context.Context, scope string) (numbers.Number, error) {
	return s.Series.Next(hostclock.With(ctx, s.clock.now), scope)
}

func (s clocked) Fill(ctx context.Context, scope string, dst []numbers.Number) error {
	return s.Series.Fill(hostclock.With(ctx, s.clock.now), scope, dst)
}

func openSeries(t *testing.T, store numbers.Store, c *clock, cfg numbers.SeriesConfig) clocked {
	t.Helper()
	if cfg.Name == "" {
		cfg.Namespace, cfg.Name = "shop", "invoices"
	}
	s, err := numbers.OpenSeries(t.Context(), store, cfg)
	require.NoError(t, err)
	return clocked{s, c}
}

// texts returns the next numbers of a scope as texts.
func texts(t *testing.T, s clocked, scope string, n int) []string {
	t.Helper()
	all := make([]string, n)
	for i := range all {
		number, err := s.Next(t.Context(), scope)
		require.NoError(t, err)
		require.Equal(t, scope, number.Scope)
		all[i] = number.String()
	}
	return all
}

// TestPeriods: numbers begin anew with each period, by the calendar of the zone.
func TestPeriods(t *testing.T) {
	t.Parallel()
	type step struct{ at, want string }
	for name, c := range map[string]struct {
		cfg   numbers.SeriesConfig
		steps []step
	}{
		"none": {numbers.SeriesConfig{}, []step{{"2026-12-31T23:59:59Z", "000001"}, {"2027-01-01T00:00:00Z", "000002"}}},
		"day": {numbers.SeriesConfig{Period: numbers.Day}, []step{
			{"2028-02-28T23:59:59Z", "20280228-000001"},
			{"2028-02-29T00:00:00Z", "20280229-000001"},
			{"2028-02-29T23:59:59Z", "20280229-000002"},
			{"2028-03-01T00:00:00Z", "20280301-000001"},
		}},
		"week": {numbers.SeriesConfig{Period: numbers.Week}, []step{
			{"2026-12-27T23:59:59Z", "2026W52-000001"},
			{"2026-12-28T00:00:00Z", "2026W53-000001"},
			{"2027-01-01T00:00:00Z", "2026W53-000002"},
			{"2027-01-04T00:00:00Z", "2027W01-000001"},
			{"2024-12-30T00:00:00Z", "2027W01-000002"},
		}},
		"week that begins in the year before": {numbers.SeriesConfig{Period: numbers.Week}, []step{{"2024-12-30T00:00:00Z", "2025W01-000001"}}},
		"month": {numbers.SeriesConfig{Period: numbers.Month, Format: "INV-{2006}-{01}-{000}", Start: 10}, []step{
			{"2026-11-30T23:59:59Z", "INV-2026-11-010"}, {"2026-12-01T00:00:00Z", "INV-2026-12-010"}, {"2027-01-01T00:00:00Z", "INV-2027-01-010"},
		}},
		"quarter": {numbers.SeriesConfig{Period: numbers.Quarter, Zone: "Europe/Berlin"}, []step{
			{"2026-03-31T21:59:59Z", "2026Q1-000001"}, {"2026-03-31T22:00:00Z", "2026Q2-000001"}, {"2026-12-31T22:59:59Z", "2026Q4-000001"}, {"2026-12-31T23:00:00Z", "2027Q1-000001"},
		}},
		"quarter of a fiscal year": {numbers.SeriesConfig{Period: numbers.Quarter, YearStarts: "04-06", Zone: "Europe/London"}, []step{
			{"2026-04-05T22:59:59Z", "FY26Q4-000001"}, {"2026-04-05T23:00:00Z", "FY27Q1-000001"}, {"2026-07-05T23:00:00Z", "FY27Q2-000001"}, {"2027-01-06T00:00:00Z", "FY27Q4-000001"},
		}},
		"fiscal year": {numbers.SeriesConfig{Period: numbers.Year, YearStarts: "04-01", Zone: "Asia/Kolkata", Format: "INV/{FY-1}-{FY}/{0000}"}, []step{
			{"2026-03-31T18:29:59Z", "INV/25-26/0001"}, {"2026-03-31T18:30:00Z", "INV/26-27/0001"}, {"2027-03-31T18:29:59Z", "INV/26-27/0002"}, {"2099-04-01T00:00:00Z", "INV/99-00/0001"},
		}},
		"month of a fiscal year": {numbers.SeriesConfig{Period: numbers.Month, YearStarts: "10-01", Format: "{FY}.{Q}.{01}-{0}"}, []step{{"2026-09-30T00:00:00Z", "26.4.09-1"}, {"2026-10-01T00:00:00Z", "27.1.10-1"}}},
		"year":                   {numbers.SeriesConfig{Period: numbers.Year, Format: "{06}/{0}"}, []step{{"2026-12-31T23:59:59Z", "26/1"}, {"2027-01-01T00:00:00Z", "27/1"}, {"2027-06-01T00:00:00Z", "27/2"}}},
		"east":                   {numbers.SeriesConfig{Period: numbers.Day, Zone: "Asia/Shanghai"}, []step{{"2026-11-24T15:59:59Z", "20261124-000001"}, {"2026-11-24T16:00:00Z", "20261125-000001"}}},
		// In Beirut, 31 March 2024 began at 01:00.
		"no midnight": {numbers.SeriesConfig{Period: numbers.Day, Zone: "Asia/Beirut"}, []step{
			{"2024-03-30T21:59:59Z", "20240330-000001"}, {"2024-03-30T22:00:00Z", "20240331-000001"}, {"2024-03-31T20:59:59Z", "20240331-000002"}, {"2024-03-31T21:00:00Z", "20240401-000001"},
		}},
		// In Havana, 3 November 2024 had two midnights.
		"two midnights": {numbers.SeriesConfig{Period: numbers.Day, Zone: "America/Havana"}, []step{
			{"2024-11-03T03:59:59Z", "20241102-000001"}, {"2024-11-03T04:00:00Z", "20241103-000001"}, {"2024-11-03T05:30:00Z", "20241103-000002"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := at(c.steps[0].at)
			s := openSeries(t, new(seriesStore), clock, c.cfg)
			for _, step := range c.steps {
				clock.set(step.at)
				require.Equal(t, []string{step.want}, texts(t, s, "", 1), step.at)
			}
		})
	}
}

// TestBoundsOfThePeriod: the store is told when the period begins and ends, with five minutes for
// clocks that differ.
func TestBoundsOfThePeriod(t *testing.T) {
	t.Parallel()
	for zone, want := range map[string][2]string{
		"UTC":           {"2024-03-30T23:55:00Z", "2024-04-01T00:05:00Z"},
		"Europe/Berlin": {"2024-03-30T22:55:00Z", "2024-03-31T22:05:00Z"}, // 23 hours
		"Asia/Beirut":   {"2024-03-30T21:55:00Z", "2024-03-31T21:05:00Z"}, // from 01:00
		// From 01:00 on 8 September.
		"America/Santiago": {"2024-09-08T03:55:00Z", "2024-09-09T03:05:00Z"},
	} {
		m := new(seriesStore)
		end, err := time.Parse(time.RFC3339, want[1])
		require.NoError(t, err)
		texts(t, openSeries(t, m, &clock{end.Add(-12 * time.Hour)}, numbers.SeriesConfig{Period: numbers.Day, Zone: zone}), "", 1)
		r := m.requests()[0]
		for i, ms := range []int64{r.NotBefore, r.NotAfter} {
			require.Equal(t, want[i], time.UnixMilli(ms).UTC().Format(time.RFC3339), zone)
		}
	}
}

// TestClocksThatDiffer: the store refuses a process whose clock is in another period than its own.
func TestClocksThatDiffer(t *testing.T) {
	t.Parallel()
	m := &seriesStore{strict: true}
	clock := &clock{time.Now()}
	s := openSeries(t, m, clock, numbers.SeriesConfig{Period: numbers.Month})
	texts(t, s, "a", 1)
	for _, years := range []int{1, -1} {
		clock.at = time.Now().AddDate(years, 0, 0)
		_, err := s.Next(t.Context(), "b")
		require.ErrorIs(t, err, numbers.ErrClock)
		require.ErrorContains(t, err, "NTP")
	}
	clock.at = time.Now()
	require.Equal(t, time.Now().UTC().Format("200601")+"-000001", texts(t, s, "b", 1)[0])
}

// TestTwoProcessesAroundMidnight: the one whose clock is behind goes on in the period that the
// other one has begun, and so does one whose clock steps back.
func TestTwoProcessesAroundMidnight(t *testing.T) {
	t.Parallel()
	m := new(seriesStore)
	cfg := numbers.SeriesConfig{Period: numbers.Month, Format: "{2006}-{01}-{0}"}
	ahead, behind := at("2026-12-01T00:00:01Z"), at("2026-11-30T23:59:58Z")
	a, b := openSeries(t, m, ahead, cfg), openSeries(t, m, behind, cfg)
	require.Equal(t, []string{"2026-11-1", "2026-11-2"}, texts(t, b, "", 2))
	require.Equal(t, []string{"2026-12-1"}, texts(t, a, "", 1))
	require.Equal(t, []string{"2026-12-2", "2026-12-3"}, texts(t, b, "", 2))
	ahead.set("2026-11-30T23:00:00Z")
	require.Equal(t, []string{"2026-12-4"}, texts(t, a, "", 1))
	for _, c := range []*clock{ahead, behind} {
		c.set("2027-01-01T00:00:00Z")
	}
	require.Equal(t, []string{"2027-01-1"}, texts(t, b, "", 1))
}

// TestScopes: each scope counts for itself, in each namespace.
func TestScopes(t *testing.T) {
	t.Parallel()
	m, now, cfg := new(seriesStore), at("2026-11-24T00:00:00Z"), numbers.SeriesConfig{Namespace: "shop", Name: "invoices", Format: "{scope}-{0}"}
	s := openSeries(t, m, now, cfg)
	cfg.Namespace = "shop-staging"
	require.Equal(t, []string{"a-1"}, texts(t, openSeries(t, m, now, cfg), "a", 1))
	require.Equal(t, []string{"a-1", "a-2"}, texts(t, s, "a", 2))
	require.Equal(t, []string{"b-1"}, texts(t, s, "b", 1))
	require.Equal(t, []string{"a-3"}, texts(t, s, "a", 1))
	require.EqualValues(t, 4, s.Status().Issued)
}

// TestManyAtOnce: callers of one scope get each number once.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	s := openSeries(t, new(seriesStore), at("2026-11-24T00:00:00Z"), numbers.SeriesConfig{Format: "{0}"})
	var wg sync.WaitGroup
	var seen sync.Map
	for range 8 {
		wg.Go(func() {
			var some [25]numbers.Number
			if err := s.Fill(t.Context(), "a", some[:]); err != nil {
				t.Error(err)
			}
			for i, n := range some {
				if _, twice := seen.LoadOrStore(n.Value, true); twice || i > 0 && n.Value <= some[i-1].Value {
					t.Errorf("%d after %d, twice: %v", n.Value, some[max(0, i-1)].Value, twice)
				}
			}
		})
	}
	wg.Wait()
	_, all := seen.Load(int64(200))
	require.True(t, all, "none was left out")
}

// TestEndOfAPeriod: a scope that is used up waits for the next period.
func TestEndOfAPeriod(t *testing.T) {
	t.Parallel()
	clock := at("2026-11-24T00:00:00Z")
	s := openSeries(t, new(seriesStore), clock, numbers.SeriesConfig{Period: numbers.Day, Start: 5, Max: 6})
	require.Equal(t, []string{"20261124-000005", "20261124-000006"}, texts(t, s, "", 2))
	_, err := s.Next(t.Context(), "")
	require.ErrorIs(t, err, numbers.ErrEnd)
	var three [3]numbers.Number
	require.ErrorIs(t, s.Fill(t.Context(), "other", three[:]), numbers.ErrEnd)
	require.Equal(t, [3]numbers.Number{}, three)
	clock.set("2026-11-25T00:00:00Z")
	require.Equal(t, []string{"20261125-000005"}, texts(t, s, "", 1))
}

// TestOtherPeriod: a series whose period changes goes on when a period begins that is later than
// all before it, and gives no number until then.
func TestOtherPeriod(t *testing.T) {
	t.Parallel()
	for _, p := range []numbers.Period{"none", numbers.Month, numbers.Year} {
		m, clock := new(seriesStore), at("2026-11-24T00:00:00Z")
		require.NoError(t, m.Create(t.Context(), "shop/invoices.", 202611240000000002))
		s := openSeries(t, m, clock, numbers.SeriesConfig{Period: p})
		_, err := s.Next(t.Context(), "")
		require.ErrorIs(t, err, numbers.ErrEnd)
		require.ErrorContains(t, err, "does not fit period")
		if clock.set("2026-12-01T00:00:00Z"); p == numbers.Month {
			require.Equal(t, []string{"202612-000001"}, texts(t, s, "", 1))
		}
	}
	m := &seriesStore{late: true} // another process of another version records the period meanwhile
	require.NoError(t, m.Create(t.Context(), "/period.shop.invoices", 3199646603183023474))
	openSeries(t, m, nil, numbers.SeriesConfig{Period: numbers.Day})
}

func TestStoreFails(t *testing.T) {
	t.Parallel()
	m := new(seriesStore)
	s := openSeries(t, m, at("2026-11-24T00:00:00Z"), numbers.SeriesConfig{})
	m.fails = errors.New("no route to host")
	some := make([]numbers.Number, 2)
	err := s.Fill(t.Context(), "a", some)
	require.ErrorIs(t, err, m.fails)
	require.ErrorContains(t, err, `series "shop/invoices"`)
	require.Equal(t, make([]numbers.Number, 2), some)
	st := s.Status()
	require.Zero(t, st.Issued)
	require.Equal(t, numbers.StateWaiting, st.State)
	require.Equal(t, "no route to host", st.Error)
	m.fails = nil
	texts(t, s, "a", 1)
	st = s.Status()
	require.Equal(t, numbers.StateReady, st.State)
	require.Zero(t, st.FailingSince)
	require.Equal(t, []int64{1, 1, 1}, []int64{st.Issued, st.Reservations, st.Failures})
}

// One tenant is on record in a period that has not begun. The store answers, and others get numbers.
func TestOneScopeSaysNothingAboutTheStore(t *testing.T) {
	t.Parallel()
	m := &seriesStore{strict: true}
	require.NoError(t, m.Create(t.Context(), "shop/invoices.early", 209912010000000501))
	s := openSeries(t, m, &clock{time.Now()}, numbers.SeriesConfig{Period: numbers.Month})
	texts(t, s, "b", 1)
	require.NoError(t, s.Healthy())
	_, err := s.Next(t.Context(), "early")
	require.ErrorIs(t, err, numbers.ErrClock)
	require.ErrorContains(t, err, "a period that has not begun, after 209912010000000000: correct the row")
	require.NoError(t, s.Healthy(), "the process is taken out of service by one tenant")
}

// hanging is a store that does not answer.
type hanging struct{ seriesStore }

func (*hanging) Reserve(ctx context.Context, _ numberstore.Request) (numberstore.Range, error) {
	<-ctx.Done()
	return numberstore.Range{}, ctx.Err()
}

// TestStoreHangs: a store is failing if it has not answered within a second. A caller in a hurry
// says nothing about it.
func TestStoreHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, err := numbers.OpenSeries(t.Context(), new(hanging), numbers.SeriesConfig{Namespace: "shop", Name: "invoices"})
		require.NoError(t, err)
		ask := func(within time.Duration) {
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			_, err := s.Next(ctx, "")
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		ask(900 * time.Millisecond)
		require.NoError(t, s.Healthy())
		ask(time.Second)
		require.ErrorIs(t, s.Healthy(), numbers.ErrUnavailable)
		require.EqualValues(t, 1, s.Status().Failures)
		time.Sleep(10 * time.Second)
		require.NoError(t, s.Healthy())
	})
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for _, store := range []numbers.Store{nil, struct{ numbers.Store }{new(segmentcheck.Memory)}} {
		_, err := numbers.NewSeries(store, numbers.SeriesConfig{Namespace: "shop", Name: "a"})
		require.ErrorContains(t, err, "is no database")
	}
	s, err := numbers.NewSeries(new(segmentcheck.Memory), numbers.SeriesConfig{Namespace: "shop", Name: "a"})
	require.NoError(t, err)
	_, err = s.Next(t.Context(), "")
	require.ErrorIs(t, err, generator.ErrNotStarted)
	require.NoError(t, s.Start(t.Context()))
	for _, scope := range []string{"a b", "a.b", "\u00e4", fmt.Sprintf("%037d", 1)} {
		_, err = s.Next(t.Context(), scope)
		require.ErrorIs(t, err, numbers.ErrScope, scope)
	}
	n, err := s.Next(t.Context(), "6f9619ff-8b86-d011-b42d-00cf4fc964ff")
	require.NoError(t, err)
	require.Equal(t, "000001", n.String())
	require.NoError(t, s.Fill(t.Context(), "", nil))
	ended, end := context.WithCancel(t.Context())
	end()
	_, err = s.Next(ended, "")
	require.ErrorIs(t, err, context.Canceled)
}

// resetting calls Reset while a request is under way.
type resetting struct {
	seriesStore
	reset func()
}

func (s *resetting) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	got, err := s.seriesStore.Reserve(ctx, r)
	if reset := s.reset; reset != nil {
		s.reset = nil
		reset()
	}
	return got, err
}

func TestSeriesResetForgetsAnswersUnderWay(t *testing.T) {
	t.Parallel()
	m := new(resetting)
	s := openSeries(t, m, at("2026-11-24T00:00:00Z"), numbers.SeriesConfig{Format: "{0}"})
	m.reset = s.Reset
	require.Equal(t, []string{"2", "3"}, texts(t, s, "a", 2))
}
