package dbseq_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
)

// pool opens the pool of an application.
func (e engine) pool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	pool, err := sql.Open(e.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func openSeries(t testing.TB, store numbers.Store, cfg numbers.SeriesConfig) *numbers.Series {
	t.Helper()
	cfg.Namespace, cfg.Name = "shop", "invoices"
	s, err := numbers.OpenSeries(t.Context(), store, cfg)
	require.NoError(t, err)
	return s
}

// gapless opens the pool of an application, and a gapless series in it.
func gapless(t testing.TB, e engine, dsn string, cfg numbers.SeriesConfig) (*sql.DB, *sqlnumbers.Store, *numbers.Series) {
	t.Helper()
	pool := e.pool(t, dsn)
	store := segmentsOn(t, pool, e.dialect)
	cfg.Gapless = true
	return pool, store, openSeries(t, store, cfg)
}

// TestSeriesOfAnotherPeriod: a process whose periods or start differ is refused at its start, and so is
// a segment that has the name of a scope, and a series whose scope has the name of a segment. One that
// runs goes on. With the row that the error names deleted, the next one runs.
func TestSeriesOfAnotherPeriod(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		store := segments(t, db)
		take := func(i *numbers.Segment, want int64) {
			n, err := i.Next(t.Context())
			require.NoError(t, err)
			require.Equal(t, want, n)
		}
		take(issuer(t, store, numbers.SegmentConfig{Name: "invoices.acme.x", Strict: true}), 1)
		all := []numbers.SeriesConfig{{Period: "year", YearStarts: "04-01"}, {Period: "year"}, {Period: "month"}, {Period: "month", Start: 2}, {Period: "month"}, {Period: "day"}, {Period: "day", Zone: "Etc/GMT-14"}, {}}
		for i, other := range all[1:] {
			runs := openSeries(t, store, all[i])
			other.Namespace, other.Name = "shop", "invoices"
			_, err := numbers.OpenSeries(t.Context(), store, other)
			require.ErrorIs(t, err, lease.ErrSetup)
			require.ErrorContains(t, err, "/period.shop.invoices")
			_, err = numbers.OpenSegment(t.Context(), store, numbers.SegmentConfig{Namespace: "shop", Name: "invoices.acme", Strict: i%2 == 0})
			require.ErrorContains(t, err, `it is a scope of series "invoices"`)
			require.NoError(t, runs.Fill(t.Context(), fmt.Sprint(i), make([]numbers.Number, 1)))
			rawExec(t, db, "DELETE FROM snowlease_segment WHERE name = '/period.shop.invoices'")
		}
		acme := issuer(t, store, numbers.SegmentConfig{Name: "invoices.acme", Strict: true})
		take(acme, 1)
		_, err := numbers.OpenSeries(t.Context(), store, numbers.SeriesConfig{Namespace: "shop", Name: "invoices", Period: "month"})
		require.ErrorIs(t, err, lease.ErrSetup)
		require.ErrorContains(t, err, `"shop/invoices.acme" has numbers without a period`)
		take(acme, 2)
		openSeries(t, store, numbers.SeriesConfig{})
	})
}

// within runs f in a transaction, and commits if f returns nil.
func within(t testing.TB, pool *sql.DB, f func(tx *sql.Tx) error) error {
	t.Helper()
	tx, err := pool.BeginTx(t.Context(), nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// next takes a number in a transaction of its own.
func next(ctx context.Context, t testing.TB, pool *sql.DB, s *numbers.Series, tenant string) (n numbers.Number, err error) {
	err = within(t, pool, func(tx *sql.Tx) (err error) {
		n, err = s.NextTx(ctx, tx, tenant)
		return err
	})
	return n, err
}

// TestGapless: many take the numbers of some tenants, from the first one on, and give some back. They
// wait for each other, but not in a circle, and leave no gaps.
func TestGapless(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool, _, s := gapless(t, e, dsn, numbers.SeriesConfig{Period: numbers.Month})
		var (
			wg      sync.WaitGroup
			mu      sync.Mutex
			got     = map[string][]int64{}
			errBack = errors.New("rolled back")
		)
		for i := range 12 {
			wg.Go(func() {
				for round := range 15 {
					tenant, n := fmt.Sprint(round/3, "-", i/4), numbers.Number{}
					err := within(t, pool, func(tx *sql.Tx) (err error) {
						if n, err = s.NextTx(t.Context(), tx, tenant); err == nil && (round+i)%3 == 0 {
							return errBack
						}
						return err
					})
					mu.Lock()
					if err == nil {
						got[tenant] = append(got[tenant], n.Value)
					} else if !errors.Is(err, errBack) {
						t.Error(err)
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		require.Len(t, got, 15)
		for tenant, numbers := range got {
			slices.Sort(numbers)
			require.Equal(t, []int64{1, 2, 3, 4, 5, 6, 7, 8}, numbers, tenant)
		}
	})
}

// TestGaplessRollback: a rollback gives all numbers of a transaction back.
func TestGaplessRollback(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool, store, s := gapless(t, e, dsn, numbers.SeriesConfig{})
		for _, back := range []error{errors.New("rolled back"), nil} {
			err := within(t, pool, func(tx *sql.Tx) error {
				for want := range int64(3) {
					n, err := s.NextTx(t.Context(), tx, "a")
					require.NoError(t, err)
					require.Equal(t, want+1, n.Value)
				}
				return back
			})
			require.ErrorIs(t, err, back)
		}
		given, err := store.HighWater(t.Context(), "shop/invoices.a")
		require.NoError(t, err)
		require.EqualValues(t, 3, given)
	})
}

// TestGaplessWrongTransactions: a number is asked for in a transaction, or without one, as the series is
// configured.
func TestGaplessWrongTransactions(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool, store, s := gapless(t, e, dsn, numbers.SeriesConfig{})
		_, err := s.Next(t.Context(), "a")
		require.ErrorIs(t, err, numbers.ErrTransaction)
		for _, tx := range []numbers.Tx{nil, (*sql.Tx)(nil)} {
			_, err = s.NextTx(t.Context(), tx, "a")
			require.ErrorIs(t, err, numbers.ErrTransaction)
		}
		_, err = next(t.Context(), t, pool, openSeries(t, store, numbers.SeriesConfig{}), "a")
		require.ErrorIs(t, err, numbers.ErrTransaction)
		_, err = next(t.Context(), t, pool, s, "a b")
		require.ErrorIs(t, err, numbers.ErrScope)
		_, err = store.HighWater(t.Context(), "shop/invoices.a")
		require.ErrorIs(t, err, numbers.ErrUnknown)
		require.NoError(t, s.Close())
		_, err = next(t.Context(), t, pool, s, "a")
		require.ErrorIs(t, err, numbers.ErrClosed)
	})
}

// TestGaplessOnOneConnection: the pool has no connection but that of the transaction.
func TestGaplessOnOneConnection(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool, _, s := gapless(t, e, dsn, numbers.SeriesConfig{Max: 2})
		pool.SetMaxOpenConns(1)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(t, within(t, pool, func(tx *sql.Tx) error {
			for _, scope := range []string{"a", "b", "a"} {
				if _, err := s.NextTx(ctx, tx, scope); err != nil {
					return err
				}
			}
			_, err := s.NextTx(ctx, tx, "a")
			require.ErrorIs(t, err, numbers.ErrEnd)
			return nil
		}))
	})
}

// TestGaplessSeriesThatIssuesNothing: the table is gone, which is no fault of a transaction, though the
// pool has no connection but that of the transaction.
func TestGaplessSeriesThatIssuesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool, _, s := gapless(t, e, dsn, numbers.SeriesConfig{})
		pool.SetMaxOpenConns(1)
		_, err := pool.ExecContext(t.Context(), "DROP TABLE snowlease_segment")
		require.NoError(t, err)
		for range 3 {
			_, err = next(t.Context(), t, pool, s, "a")
			require.ErrorContains(t, err, "there is no table snowlease_segment")
			require.ErrorIs(t, err, lease.ErrSetup)
		}
		st := s.Status()
		require.NotZero(t, st.Failures)
		require.False(t, st.FailingSince.IsZero())
		require.Equal(t, numbers.StateWaiting, st.State)
		require.Error(t, s.Healthy())
	})
}

// TestGaplessFirstNumberByAWrongClock: a process whose clock is decades ahead asks first. Others then
// get their numbers.
func TestGaplessFirstNumberByAWrongClock(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool, _, s := gapless(t, e, dsn, numbers.SeriesConfig{Period: numbers.Year, Format: "{2006}-{0}"})
		now := time.Now().UTC()
		for _, years := range []int{70, -20} {
			off := hostclock.With(t.Context(), func() time.Time { return now.AddDate(years, 0, 0) })
			_, err := next(off, t, pool, s, "a")
			require.ErrorIs(t, err, numbers.ErrClock)
		}
		n, err := next(t.Context(), t, pool, s, "a")
		require.NoError(t, err)
		require.EqualValues(t, 1, n.Value)
	})
}

// firstAtOnce takes the first numbers of n tenants in transactions that have all begun before. A
// transaction may lose against another if lose is set.
func firstAtOnce(t *testing.T, e engine, pool *sql.DB, s *numbers.Series, n int, lose bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	lost := map[string]string{"mysql": "Error 1213", "postgres": "40P01"}[e.speaks]
	prefix := rand.Int()
	var begun, wg sync.WaitGroup
	begun.Add(n)
	for i := range n {
		wg.Go(func() {
			err := within(t, pool, func(tx *sql.Tx) error {
				begun.Done()
				begun.Wait()
				_, err := s.NextTx(ctx, tx, fmt.Sprint(prefix, "-", i))
				return err
			})
			if err != nil && (!lose || !strings.Contains(err.Error(), lost)) {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	require.NoError(t, ctx.Err())
}

// TestGaplessFirstNumbersOfABusyPool: all connections are in transactions that each take the first
// number of a tenant of their own.
func TestGaplessFirstNumbersOfABusyPool(t *testing.T) {
	onThose(t, "mysql postgres", func(t *testing.T, e engine, dsn string) { // SQLite writes one transaction after another
		pool, _, s := gapless(t, e, dsn, numbers.SeriesConfig{})
		pool.SetMaxOpenConns(3)
		firstAtOnce(t, e, pool, s, 3, true)
	})
}

// TestGaplessFirstNumbersWithAPoolOfItsOwn: the store has two connections of its own, as by fx, which the
// transactions do not use.
func TestGaplessFirstNumbersWithAPoolOfItsOwn(t *testing.T) {
	onThose(t, "mysql", func(t *testing.T, e engine, dsn string) {
		pool, s := e.pool(t, dsn), openSeries(t, segments(t, e.db(t, dsn)), numbers.SeriesConfig{Gapless: true})
		for range 5 {
			firstAtOnce(t, e, pool, s, 24, false)
		}
	})
}

// TestGaplessSerializable: the first number, in a transaction that locks what it reads.
func TestGaplessSerializable(t *testing.T) {
	onThose(t, "mysql postgres", func(t *testing.T, e engine, dsn string) { // SQLite knows no other isolation
		pool, _, s := gapless(t, e, dsn, numbers.SeriesConfig{})
		for want := range int64(2) {
			tx, err := pool.BeginTx(t.Context(), &sql.TxOptions{Isolation: sql.LevelSerializable})
			require.NoError(t, err)
			n, err := s.NextTx(t.Context(), tx, "a")
			require.NoError(t, err)
			require.Equal(t, want+1, n.Value)
			require.NoError(t, tx.Commit())
		}
	})
}

// TestGaplessBySnapshotIsolation: MariaDB refuses by default since 11.6.2 to change a row that others
// have changed since the transaction first read. A number that is asked for first does not fail.
func TestGaplessBySnapshotIsolation(t *testing.T) {
	e := engines[1]
	cfg, err := mysqldriver.ParseDSN(e.dsn(t))
	require.NoError(t, err)
	cfg.Params = map[string]string{"innodb_snapshot_isolation": "1"}
	pool, _, s := gapless(t, e, cfg.FormatDSN(), numbers.SeriesConfig{})
	_, err = next(t.Context(), t, pool, s, "a")
	require.NoError(t, err, "which creates the row")

	holds, err := pool.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = s.NextTx(t.Context(), holds, "a")
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() {
		_, err := next(t.Context(), t, pool, s, "a")
		waits <- err
	}()
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&n))
		return n > 0
	}, 30*time.Second, 200*time.Millisecond) // the table is refreshed if nobody has read it for 100 ms
	require.NoError(t, holds.Commit())
	require.NoError(t, <-waits)
}

// TestSeriesBehindASnapshot: a transaction of MySQL that has read before does not see in a SELECT why
// it gets no number.
func TestSeriesBehindASnapshot(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.name != "mysql" { // MariaDB refuses by innodb_snapshot_isolation
			return
		}
		pool, _, s := gapless(t, e, dsn, numbers.SeriesConfig{Max: 2})
		_, err := next(t.Context(), t, pool, s, "a") // 1
		require.NoError(t, err)
		require.ErrorContains(t, within(t, pool, func(tx *sql.Tx) error {
			var n int
			require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM snowlease_segment").Scan(&n))
			_, err := next(t.Context(), t, pool, s, "a") // 2, the last
			require.NoError(t, err)
			_, err = s.NextTx(t.Context(), tx, "a")
			return err
		}), "run it again")
	})
}
