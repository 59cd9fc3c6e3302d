package history_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/numbers/history"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var layout = snowflake.Layout{}.WithDefaults()

func open(t testing.TB, driver, dsn string) numbers.Store {
	t.Helper()
	c, err := dbseq.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c.Numbers()
}

func issuer(t testing.TB, store numbers.Store, cfg history.Of) *history.Issuer {
	t.Helper()
	cfg.Namespace = "orders"
	i, err := history.NewOf(store, cfg)
	require.NoError(t, err)
	return i
}

// Several processes and runs issue ids for the same and for neighboring times. All are
// unique, have the requested time, and carry only reserved worker ids.
func TestIDsForThePast(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(t *testing.T) numbers.Store{
		"memory": func(*testing.T) numbers.Store { return &segmentcheck.Memory{} },
		"sqlite": func(t *testing.T) numbers.Store {
			return open(t, "sqlite", filepath.Join(t.TempDir(), "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := store(t)
			past := time.Date(2021, 3, 4, 5, 6, 7, 890e6, time.UTC)
			var mu sync.Mutex
			seen := map[int64]bool{}
			var wg sync.WaitGroup
			for range 4 {
				run := issuer(t, s, history.Of{Layout: layout, Reserved: 2}).Backfill(past.Add(time.Second))
				wg.Go(func() {
					for range 25 {
						at := past.Add(time.Duration(rand.IntN(3)) * time.Millisecond)
						ids := make([]int64, 1+rand.IntN(50))
						if err := run.NextIDsAt(context.Background(), at, ids); err != nil {
							t.Error(err)
							return
						}
						mu.Lock()
						for _, id := range ids {
							p, err := layout.Decode(id)
							if err != nil || seen[id] || !p.Time.Equal(at) || p.Worker < 30 {
								t.Errorf("id %d for %v: %+v, %v, seen before: %v", id, at, p, err, seen[id])
							}
							seen[id] = true
						}
						mu.Unlock()
					}
				})
			}
			wg.Wait()
		})
	}
}

func TestEveryIDOfASecond(t *testing.T) {
	t.Parallel()
	small := snowflake.Layout{WorkerBits: 2, SequenceBits: 3}
	at := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
	i := issuer(t, &segmentcheck.Memory{}, history.Of{Layout: small, Reserved: 3, Every: time.Second}).Backfill(at.Add(time.Minute))
	require.Equal(t, int64(24), i.PerSpan())
	seen := map[int64]bool{}
	workers := map[int64]int{}
	for n := range 24 {
		id, err := i.NextIDAt(t.Context(), at.Add(time.Duration(n)*40*time.Millisecond))
		require.NoError(t, err)
		require.False(t, seen[id])
		seen[id] = true
		p, err := small.Decode(id)
		require.NoError(t, err)
		workers[p.Worker]++
	}
	require.Equal(t, map[int64]int{1: 8, 2: 8, 3: 8}, workers)
	batch := make([]int64, 24)
	require.NoError(t, i.NextIDsAt(t.Context(), at.Add(2*time.Second), batch))
	require.IsIncreasing(t, batch, "over all worker ids")
	id, err := i.NextIDAt(t.Context(), at)
	require.ErrorIs(t, err, history.ErrFull)
	require.Zero(t, id)
	for _, want := range []string{"1 of 24 ids of the 1s", "spread", "or reserve more in a new namespace"} {
		require.ErrorContains(t, err, want)
	}
	_, err = i.NextIDAt(t.Context(), at.Add(time.Second))
	require.NoError(t, err)
	ids := make([]int64, 24)
	require.ErrorIs(t, i.NextIDsAt(t.Context(), at.Add(time.Second), ids), history.ErrFull)
	require.Equal(t, make([]int64, 24), ids, "nothing is half-written")
	require.NoError(t, i.NextIDsAt(t.Context(), at, nil))
}

func TestTimesThatAreNoPast(t *testing.T) {
	t.Parallel()
	i := issuer(t, &segmentcheck.Memory{}, history.Of{Layout: layout, Reserved: 1}).Backfill(time.Now().Add(2 * time.Hour))
	for _, at := range []time.Time{time.Now().Add(time.Hour), time.Date(2019, 12, 31, 0, 0, 0, 0, time.UTC), {}} {
		id, err := i.NextIDAt(t.Context(), at)
		require.ErrorIs(t, err, history.ErrTime)
		require.Zero(t, id)
	}
	_, err := i.NextIDAt(t.Context(), time.Now())
	require.NoError(t, err)
}

// Without Backfill, there are ids only for times from Since on, which is some minutes
// after the first process asked. With it, there are ids for whole ticks before its time
// too.
func TestSince(t *testing.T) {
	t.Parallel()
	start := time.Now().Truncate(time.Second)
	now := start
	cfg := history.Of{Layout: snowflake.Layout{TimeUnit: 10 * time.Millisecond}, Reserved: 1, Config: history.Config{Ahead: time.Minute}}
	store := &segmentcheck.Memory{}
	i := issuer(t, store, cfg).At(func() time.Time { return now })
	since, err := i.Since(t.Context())
	require.NoError(t, err)
	require.True(t, since.Equal(start.Add(time.Minute)), since)

	now = start.Add(4 * time.Minute)
	for at, want := range map[time.Duration]error{
		-time.Hour: history.ErrTime, 0: history.ErrTime, time.Minute - 1: history.ErrTime, time.Minute: nil, 4 * time.Minute: nil,
	} {
		_, err := i.NextIDAt(t.Context(), start.Add(at))
		require.ErrorIs(t, err, want, at)
	}
	_, err = i.NextIDAt(t.Context(), start)
	for _, want := range []string{start.UTC().Format("at 2006-01-02T15:04:05.000Z others"), since.UTC().Format("from 2006-01-02T15:04:05.000Z on"), "Backfill"} {
		require.ErrorContains(t, err, want)
	}
	old := i.Backfill(start.Add(-995 * time.Millisecond))
	_, err = old.NextIDAt(t.Context(), start.Add(-1001*time.Millisecond))
	require.NoError(t, err)
	_, err = old.NextIDAt(t.Context(), start.Add(-996*time.Millisecond))
	require.ErrorIs(t, err, history.ErrTime, "ids of the time that was given may be of the same tick")
	_, err = old.NextIDAt(t.Context(), start.Add(time.Minute))
	require.NoError(t, err)

	// A process that starts later reads Since from the store.
	later := issuer(t, store, cfg).At(func() time.Time { return now })
	_, err = later.NextIDAt(t.Context(), start.Add(time.Minute+time.Second))
	require.NoError(t, err)

	// Each setting on which the ids depend begins its own Since.
	for _, change := range []func(*history.Of){
		func(c *history.Of) { c.Reserved = 2 },
		func(c *history.Of) { c.Layout.WorkerBits = 6 },
	} {
		now = now.Add(time.Second)
		other := cfg
		change(&other)
		since, err := issuer(t, store, other).At(func() time.Time { return now }).Since(t.Context())
		require.NoError(t, err)
		require.True(t, since.Equal(now.Add(time.Minute)), since)
	}
	same, err := issuer(t, store, cfg).At(func() time.Time { return now }).Since(t.Context())
	require.NoError(t, err)
	require.True(t, same.Equal(since), same)

	for _, wrong := range []time.Duration{-time.Hour, time.Hour} { // Since would be past, or far ahead
		_, err := issuer(t, store, cfg).At(func() time.Time { return start.Add(wrong) }).Since(t.Context())
		require.ErrorIs(t, err, numbers.ErrClock)
	}
}

// The default number of ids per second of the past with one reserved worker id.
// docs/configuration.md has the spans.
func TestIDsASecond(t *testing.T) {
	t.Parallel()
	for preset, want := range map[string]string{
		"default": "131072 in 1s", "twitter": "4096 in 500ms", "discord": "4096 in 500ms", "wide": "4096 in 500ms", "yitter": "64 in 7ms", "jssafe": "64 in 7ms",
	} {
		l, err := snowflake.Preset(preset)
		require.NoError(t, err)
		at := time.UnixMilli(l.Epoch) // where a span begins
		i := issuer(t, &segmentcheck.Memory{}, history.Of{Layout: l, Reserved: 1}).Backfill(time.Now())
		n, every := 0, time.Duration(0)
		for ; ; every += l.TimeUnit {
			ids := make([]int64, i.PerSpan())
			if errors.Is(i.NextIDsAt(t.Context(), at.Add(every), ids), history.ErrFull) {
				continue
			}
			if n > 0 { // the next span
				break
			}
			n = len(ids)
		}
		require.Equal(t, want, fmt.Sprintf("%d in %v", n, every), preset)
		require.GreaterOrEqual(t, int64(n)*int64(time.Second/every), int64(8192), preset)
	}
}

// Business numbers share the ids of a span.
func TestForABusinessNumber(t *testing.T) {
	t.Parallel()
	l := snowflake.Layout{WorkerBits: 3, BusinessBits: 2, SequenceBits: 4}
	at := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
	i := issuer(t, &segmentcheck.Memory{}, history.Of{Layout: l, Reserved: 1}).Backfill(at.Add(time.Second))
	other, err := i.For(3)
	require.NoError(t, err)
	for n := range int64(4) {
		from := []*history.Issuer{i, other}[n%2]
		id, err := from.NextIDAt(t.Context(), at)
		require.NoError(t, err)
		p, err := l.Decode(id)
		require.NoError(t, err)
		require.Equal(t, snowflake.Parts{Time: p.Time, Worker: 7, Business: 3 * (n % 2), Sequence: n}, p)
	}
	_, err = i.For(4)
	require.ErrorContains(t, err, "business 4 is not 0 to 3")
}

func TestConfigsThatAreWrong(t *testing.T) {
	t.Parallel()
	w, err := snowlease.Fixed(1, snowlease.Config{})
	require.NoError(t, err)
	_, err = history.New(w, nil, history.Config{Ahead: -time.Second})
	for _, want := range []string{"store is nil", "the worker reserves no worker ids", "ahead -1s"} {
		require.ErrorContains(t, err, want)
	}
	_, err = history.New(nil, &segmentcheck.Memory{}, history.Config{})
	require.ErrorContains(t, err, "the worker is nil")
	w, err = snowlease.New(memcenter.New(), snowlease.Config{Namespace: "orders", Reserved: 1, Workers: "0-15"})
	require.NoError(t, err)
	_, err = history.New(w, &segmentcheck.Memory{}, history.Config{})
	require.ErrorContains(t, err, "ends at 15 and leaves out the reserved ones")
}

// down is a store that always fails.
type down struct{ *segmentcheck.Memory }

func (down) Reserve(context.Context, numberstore.Request) (numberstore.Range, error) {
	return numberstore.Range{}, errors.New("connection refused")
}

func TestStoreDown(t *testing.T) {
	t.Parallel()
	i := issuer(t, down{}, history.Of{Layout: layout, Reserved: 1})
	for _, i := range []*history.Issuer{i, i.Backfill(time.Now().Add(time.Hour))} {
		ids := []int64{7, 7}
		require.ErrorContains(t, i.NextIDsAt(t.Context(), time.Now(), ids), "connection refused")
		require.Equal(t, []int64{0, 0}, ids)
	}
}
