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

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker/history"
	"github.com/snowlease/snowlease/idworker/segment"
	"github.com/snowlease/snowlease/idworker/snowflake"
	"github.com/snowlease/snowlease/internal/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

var layout = snowflake.Layout{}.WithDefaults()

func open(t testing.TB, d gorm.Dialector) *dbseq.Segments {
	t.Helper()
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	s, err := dbseq.NewSegments(db)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func issuer(t testing.TB, store segment.Store, cfg history.Config) *history.Issuer {
	t.Helper()
	cfg.Namespace = "orders"
	i, err := history.New(cfg, store)
	require.NoError(t, err)
	return i
}

// Several processes and runs make ids for the same and for neighbouring times: none
// comes twice, each has its time, and only reserved worker ids.
func TestIDsForThePast(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func() segment.Store{
		"memory": func() segment.Store { return &segment.Memory{} },
		"sqlite": func() segment.Store {
			return open(t, sqlite.Open(filepath.Join(t.TempDir(), "app.db")+"?_txlock=immediate&_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"))
		},
		"mysql":    func() segment.Store { return open(t, mysql.Open(testserver.MySQL(t))) },
		"postgres": func() segment.Store { return open(t, postgres.Open(testserver.Postgres(t))) },
	} {
		t.Run(name, func(t *testing.T) {
			s := store()
			past := time.Date(2021, 3, 4, 5, 6, 7, 890e6, time.UTC)
			var mu sync.Mutex
			seen := map[int64]bool{}
			var wg sync.WaitGroup
			for range 4 {
				run := issuer(t, s, history.Config{Layout: layout, Reserved: 2})
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
	i := issuer(t, &segment.Memory{}, history.Config{Layout: small, Reserved: 3})
	require.Equal(t, int64(24), i.PerSpan())
	at := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
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
	id, err := i.NextIDAt(t.Context(), at)
	require.ErrorIs(t, err, history.ErrFull)
	require.Zero(t, id)
	_, err = i.NextIDAt(t.Context(), at.Add(time.Second))
	require.NoError(t, err)
	ids := make([]int64, 24)
	require.ErrorIs(t, i.NextIDsAt(t.Context(), at.Add(time.Second), ids), history.ErrFull)
	require.Equal(t, make([]int64, 24), ids, "nothing is half-written")
	require.NoError(t, i.NextIDsAt(t.Context(), at, nil))
}

// Ids of the past sort among the live ids where they belong, and equal none of them.
func TestPastAndLive(t *testing.T) {
	t.Parallel()
	at := time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC)
	g, err := snowflake.NewGenerator(layout, snowflake.WithClock(func() time.Duration { return 0 }))
	require.NoError(t, err)
	_, err = g.Adopt(snowflake.Range{Worker: 30, Floor: at.UnixMilli() - 1, Ceiling: at.UnixMilli() + 1000, Now: at.UnixMilli()})
	require.NoError(t, err)
	live, err := g.NextID()
	require.NoError(t, err)
	i := issuer(t, &segment.Memory{}, history.Config{Layout: layout, Reserved: 1})
	before, err := i.NextIDAt(t.Context(), at.Add(-time.Millisecond))
	require.NoError(t, err)
	after, err := i.NextIDAt(t.Context(), at.Add(time.Millisecond))
	require.NoError(t, err)
	require.Less(t, before, live)
	require.Greater(t, after, live)
}

func TestTimesThatAreNoPast(t *testing.T) {
	t.Parallel()
	i := issuer(t, &segment.Memory{}, history.Config{Layout: layout, Reserved: 1})
	for _, at := range []time.Time{time.Now().Add(time.Hour), time.Date(2019, 12, 31, 0, 0, 0, 0, time.UTC), {}} {
		id, err := i.NextIDAt(t.Context(), at)
		require.ErrorIs(t, err, history.ErrTime)
		require.Zero(t, id)
	}
	_, err := i.NextIDAt(t.Context(), time.Now())
	require.NoError(t, err)
}

func TestConfigsThatAreWrong(t *testing.T) {
	t.Parallel()
	_, err := history.New(history.Config{Reserved: 32, Every: 1500 * time.Microsecond, Layout: snowflake.Layout{TimeBits: 62}}, nil)
	for _, want := range []string{"store is nil", `namespace ""`, "reserved 32 is not 1 to 31", "every 1.5ms", "84"} {
		require.ErrorContains(t, err, want)
	}
	for _, reserved := range []int64{-1, 0} {
		_, err := history.New(history.Config{Namespace: "orders", Reserved: reserved}, &segment.Memory{})
		require.ErrorContains(t, err, fmt.Sprintf("reserved %d is not 1 to 31", reserved))
	}
}

// down is a store that is away.
type down struct{}

func (down) Reserve(context.Context, segment.Request) (segment.Range, error) {
	return segment.Range{}, errors.New("connection refused")
}

func TestStoreDown(t *testing.T) {
	t.Parallel()
	i := issuer(t, down{}, history.Config{Layout: layout, Reserved: 1})
	ids := []int64{7, 7}
	require.ErrorContains(t, i.NextIDsAt(t.Context(), time.Now(), ids), "connection refused")
	require.Equal(t, []int64{0, 0}, ids)
}

func Example() {
	past, err := history.New(history.Config{Namespace: "orders", Reserved: 1}, &segment.Memory{}) // dbseq.NewSegments(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := past.NextIDAt(context.Background(), time.Date(2021, 3, 4, 5, 6, 7, 0, time.UTC))
	if err != nil {
		fmt.Println(err)
		return
	}
	parts, err := snowflake.Layout{}.Decode(id)
	fmt.Println(id, parts.Time, parts.Worker, err)
	// Output: 155299839217631232 2021-03-04 05:06:07 +0000 UTC 31 <nil>
}
