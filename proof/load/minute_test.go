package load

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	_ "modernc.org/sqlite"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/etcdseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A minute is what workers make of the ids of their layouts, in each second.
type minute struct {
	store, layout string
	share         []float64 // from the first id on; a second without any is 0
	lost          int       // the second in which the records were deleted
	again         int       // when ids were there again
	expired       int       // calls that got ErrLeaseExpired
}

const (
	seconds   = 100
	deleteAt  = 60
	fromThird = 2
)

// BenchmarkFirstMinute opens a worker for each of four layouts on each store, in a new namespace,
// takes all ids that it gets, and deletes all records after a minute.
func BenchmarkFirstMinute(b *testing.B) {
	var mu sync.Mutex
	var all []minute
	b.Run("stores", func(b *testing.B) {
		var wg sync.WaitGroup
		for name, store := range map[string]func(testing.TB) (lease.Center, func(context.Context) error){
			"Redis": minuteRedis, "MariaDB": minuteSQL("mysql", testserver.NewMariaDB), "PostgreSQL": minuteSQL("pgx", testserver.NewPostgres),
			"SQLite": minuteSQLite, "etcd": minuteEtcd,
		} {
			center, wipe := store(b)
			for layout, l := range map[string]snowflake.Layout{
				"jssafe": snowflake.JSSafe(), "yitter": snowflake.Yitter(), "twitter": snowflake.Twitter(), "4 bits": {SequenceBits: 4, TimeBits: 41},
			} {
				wg.Go(func() {
					m := minute{store: name, layout: layout, share: make([]float64, seconds)}
					if err := m.run(b.Context(), center, l); err != nil {
						b.Error(name, layout, err)
					}
					mu.Lock()
					defer mu.Unlock()
					all = append(all, m)
				})
			}
			wg.Go(func() {
				time.Sleep(deleteAt * time.Second)
				if err := wipe(b.Context()); err != nil {
					b.Error(name, err)
				}
			})
		}
		wg.Wait()
	})
	slices.SortFunc(all, func(x, y minute) int { return strings.Compare(x.store+x.layout, y.store+y.layout) })
	var out strings.Builder
	out.WriteString("| store | layout | least of its ids in a second, from the third on | without ids after the loss | least after that, from the third on | `ErrLeaseExpired` |\n|---|---|--:|--:|--:|--:|\n")
	for _, m := range all {
		fmt.Fprintf(&out, "| %s | `%s` | %.1f %% | %d s | %.1f %% | %d |\n", m.store, m.layout,
			100*slices.Min(m.share[fromThird:m.lost]), m.again-m.lost, 100*slices.Min(m.share[min(m.again+1+fromThird, seconds-1):]), m.expired)
	}
	b.Log("\n" + out.String())
	if *minutes != "" {
		require.NoError(b, os.WriteFile(*minutes, []byte(out.String()), 0o644))
	}
}

// run takes all ids of a worker for as many seconds as there are shares.
func (m *minute) run(ctx context.Context, center lease.Center, l snowflake.Layout) error {
	w, err := snowlease.Open(ctx, center, snowlease.Config{Namespace: strings.ReplaceAll(m.layout, " ", "-"), Layout: l})
	if err != nil {
		return err
	}
	defer func() { _ = w.Stop(context.Background()) }()
	full := float64(l.WithDefaults().PerTick()) * float64(time.Second/l.WithDefaults().TimeUnit)
	ids := make([]int64, max(1, l.PerTick()/4))
	began := time.Now()
	for {
		within, cancel := context.WithTimeout(ctx, time.Second)
		err := w.NextIDs(within, ids)
		cancel()
		second := int(time.Since(began) / time.Second)
		switch {
		case second >= len(m.share):
			for s := deleteAt / 2; s < len(m.share); s++ { // a worker that opened late has had less of it
				if m.lost == 0 && m.share[s] < 0.5 {
					m.lost = s
				} else if m.lost > 0 && m.again == 0 && m.share[s] > 0.5 {
					m.again = s
				}
			}
			if m.again == 0 {
				return errors.New("no loss shows in the ids")
			}
			return nil
		case errors.Is(err, snowlease.ErrLeaseExpired):
			m.expired++
		case err == nil:
			m.share[second] += float64(len(ids)) / full
		}
	}
}

func minuteRedis(t testing.TB) (lease.Center, func(context.Context) error) {
	s := testserver.NewRedis(t)
	center, closer := connectRedis(t, s)
	c := client(s)
	t.Cleanup(func() { _, _ = closer.Close(), c.Close() })
	return center, func(ctx context.Context) error { return c.FlushAll(ctx).Err() }
}

func minuteSQL(driver string, start func(testing.TB, ...string) *testserver.Server) func(testing.TB) (lease.Center, func(context.Context) error) {
	return func(t testing.TB) (lease.Center, func(context.Context) error) {
		return minuteDB(t, driver, start(t).DSN())
	}
}

func minuteSQLite(t testing.TB) (lease.Center, func(context.Context) error) {
	return minuteDB(t, "sqlite", filepath.Join(t.TempDir(), "ids.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)")
}

func minuteDB(t testing.TB, driver, dsn string) (lease.Center, func(context.Context) error) {
	center, err := dbseq.Open(driver, dsn)
	require.NoError(t, err)
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = center.Close(), db.Close() })
	return center, func(ctx context.Context) error {
		for _, table := range []string{"snowlease_slot", "snowlease_meta"} {
			if _, err := db.ExecContext(ctx, "DELETE FROM "+table); err != nil {
				return err
			}
		}
		return nil
	}
}

func minuteEtcd(t testing.TB) (lease.Center, func(context.Context) error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: testserver.NewEtcd(t, 1).URLs(), DialTimeout: 10 * time.Second})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	center, err := etcdseq.New(c)
	require.NoError(t, err)
	return center, func(ctx context.Context) error {
		_, err := c.Delete(ctx, "snowlease/", clientv3.WithPrefix())
		return err
	}
}
