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

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/hostclock"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/numbers/series"
)

// pool opens the pool of an application.
func (e engine) pool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	pool, err := sql.Open(e.driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return pool
}

func openSeries(t testing.TB, store numberstore.Reader, cfg series.Config) *series.Series {
	t.Helper()
	cfg.Name = "invoices"
	s, err := series.Open(t.Context(), store, cfg)
	require.NoError(t, err)
	return s
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

// TestSeriesByPeriodAndTenant: numbers begin anew each day and count per tenant, in each order.
func TestSeriesByPeriodAndTenant(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		store := segments(t, e.db(t, dsn))
		today := time.Now().UTC()
		for _, want := range []string{"a-1", "a-2", "b-1", "a-3", "b-2"} {
			s, err := series.Open(t.Context(), store, series.Config{Name: "orders", Period: series.Day, Format: "{20060102}-{scope}-{0}"})
			require.NoError(t, err)
			n, err := s.Next(t.Context(), want[:1])
			require.NoError(t, err)
			require.Equal(t, n.Period.Format("20060102")+"-"+want, n.String())
			require.WithinDuration(t, today, n.Period, 25*time.Hour)
		}
		ahead := hostclock.With(t.Context(), func() time.Time { return today.AddDate(1, 0, 0) })
		_, err := openSeries(t, store, series.Config{Period: series.Year}).Next(ahead, "a")
		require.ErrorIs(t, err, segment.ErrClock)
	})
}

// TestGapless: many take the numbers of some tenants and give some back. Each tenant has them from
// the first on and without gaps.
func TestGapless(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Period: series.Month, Format: "INV-{2006}-{01}-{000}", Gapless: true})
		rawExec(t, e.db(t, dsn), "CREATE TABLE invoice (tenant VARCHAR(36) NOT NULL, number VARCHAR(36) NOT NULL, PRIMARY KEY (tenant, number))")
		insert := "INSERT INTO invoice VALUES (?, ?)"
		if e.speaks == "postgres" {
			insert = "INSERT INTO invoice VALUES ($1, $2)"
		}
		tenants := []string{"a", "b", "c"}
		errBack := errors.New("rolled back")
		var wg sync.WaitGroup
		for range 6 {
			wg.Go(func() {
				for range 12 {
					tenant, back := tenants[rand.IntN(len(tenants))], rand.IntN(3) == 0
					err := within(t, pool, func(tx *sql.Tx) error {
						n, err := s.NextTx(t.Context(), tx, tenant)
						if err != nil {
							return err
						}
						if _, err := tx.ExecContext(t.Context(), insert, tenant, n.String()); err != nil {
							return err
						}
						if back {
							return errBack
						}
						return nil
					})
					if err != nil && !errors.Is(err, errBack) {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		for _, tenant := range tenants {
			var numbers []string
			require.NoError(t, e.db(t, dsn).Raw("SELECT number FROM invoice WHERE tenant = ? ORDER BY number", tenant).Scan(&numbers).Error)
			require.NotEmpty(t, numbers)
			for i, n := range numbers {
				require.Equal(t, fmt.Sprintf("%s%03d", numbers[0][:12], i+1), n, tenant)
			}
		}
	})
}

// TestGaplessFirstNumbers: transactions that take the first numbers of the same and of neighboring
// tenants at once wait for each other, but not in a circle.
func TestGaplessFirstNumbers(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true})
		var (
			wg  sync.WaitGroup
			mu  sync.Mutex
			all = map[string][]int64{}
		)
		for i := range 12 {
			wg.Go(func() {
				for round := range 5 {
					tenant := fmt.Sprint(round, "-", i/4)
					err := within(t, pool, func(tx *sql.Tx) error {
						n, err := s.NextTx(t.Context(), tx, tenant)
						mu.Lock()
						defer mu.Unlock()
						all[tenant] = append(all[tenant], n.Value)
						return err
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		require.Len(t, all, 15)
		for tenant, numbers := range all {
			slices.Sort(numbers)
			require.Equal(t, []int64{1, 2, 3, 4}, numbers, tenant)
		}
	})
}

// TestGaplessRollback: a rollback gives all numbers of a transaction back.
func TestGaplessRollback(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true})
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
		given, err := store.Given(t.Context(), "invoices.a")
		require.NoError(t, err)
		require.EqualValues(t, 3, given)
	})
}

// TestGaplessWrongTransactions: a number is asked for in a transaction, or without one, as the series is
// configured.
func TestGaplessWrongTransactions(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true})
		_, err = s.Next(t.Context(), "a")
		require.ErrorIs(t, err, series.ErrTransaction)
		for _, tx := range []series.Tx{nil, (*sql.Tx)(nil)} {
			_, err = s.NextTx(t.Context(), tx, "a")
			require.ErrorIs(t, err, series.ErrTransaction)
		}
		require.NoError(t, within(t, pool, func(tx *sql.Tx) error {
			_, err := openSeries(t, store, series.Config{}).NextTx(t.Context(), tx, "a")
			require.ErrorIs(t, err, series.ErrTransaction)
			_, err = s.NextTx(t.Context(), tx, "a b")
			require.ErrorIs(t, err, series.ErrScope)
			return nil
		}))
		_, err = store.Given(t.Context(), "invoices.a")
		require.ErrorIs(t, err, segment.ErrUnknown)
		require.NoError(t, s.Close())
		require.ErrorIs(t, within(t, pool, func(tx *sql.Tx) error {
			_, err := s.NextTx(t.Context(), tx, "a")
			return err
		}), segment.ErrClosed)
	})
}

// TestGaplessOnOneConnection: the pool has no connection but that of the transaction.
func TestGaplessOnOneConnection(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		pool.SetMaxOpenConns(1)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true, Max: 2})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		require.NoError(t, within(t, pool, func(tx *sql.Tx) error {
			for _, scope := range []string{"a", "b", "a"} {
				if _, err := s.NextTx(ctx, tx, scope); err != nil {
					return err
				}
			}
			_, err := s.NextTx(ctx, tx, "a")
			require.ErrorIs(t, err, segment.ErrEnd)
			return nil
		}))
	})
}

// TestGaplessWithoutTheTable: it is missing since the series has started. The error says so.
func TestGaplessWithoutTheTable(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		pool.SetMaxOpenConns(1)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true})
		_, err = pool.ExecContext(t.Context(), "DROP TABLE snowlease_segment")
		require.NoError(t, err)
		err = within(t, pool, func(tx *sql.Tx) error {
			_, err := s.NextTx(t.Context(), tx, "a")
			return err
		})
		require.ErrorContains(t, err, "there is no table snowlease_segment")
		require.ErrorIs(t, err, lease.ErrSetup)
	})
}

// TestTransactionOfAnotherDatabase: a transaction that is in another database or schema than the
// store gets the numbers of the store, with a pool of the application or one of the store's own.
func TestTransactionOfAnotherDatabase(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		runSegmentFile(t, s.tenantDB, s.engine)
		shared, err := dbseq.NewSegments(s.pool, s.engine.dialect)
		require.NoError(t, err)
		theirs, err := s.tenantDB.DB()
		require.NoError(t, err)
		last := int64(0)
		for _, store := range []*dbseq.Segments{shared, segments(t, s.db)} {
			numbers := openSeries(t, store, series.Config{Gapless: true})
			for _, pool := range []*sql.DB{theirs, s.pool} {
				require.NoError(t, within(t, pool, func(tx *sql.Tx) error {
					n, err := numbers.NextTx(t.Context(), tx, "a")
					last++
					require.Equal(t, last, n.Value)
					return err
				}))
			}
			require.Error(t, within(t, theirs, func(tx *sql.Tx) error {
				_, err := numbers.NextTx(t.Context(), tx, "a")
				require.NoError(t, err)
				return errors.New("taken back")
			}))
		}
		require.EqualValues(t, 0, number(t, s.tenantDB, "SELECT COUNT(*) FROM snowlease_segment"))
	})
}

// TestGaplessFirstNumberByAWrongClock: a process whose clock is decades ahead asks first. Others then
// get their numbers.
func TestGaplessFirstNumberByAWrongClock(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		pool := e.pool(t, dsn)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		cfg := series.Config{Period: series.Year, Gapless: true, Format: "{2006}-{0}"}
		now := time.Now().UTC()
		for _, years := range []int{70, -20, 0} {
			s, off := openSeries(t, store, cfg), hostclock.With(t.Context(), func() time.Time { return now.AddDate(years, 0, 0) })
			err := within(t, pool, func(tx *sql.Tx) error {
				n, err := s.NextTx(off, tx, "a")
				if err == nil {
					require.EqualValues(t, 1, n.Value)
				}
				return err
			})
			if years == 0 {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, segment.ErrClock)
			}
		}
	})
}

// TestGaplessFirstNumbersOfABusyPool: all connections are in transactions that each take the first
// number of a tenant of their own.
func TestGaplessFirstNumbersOfABusyPool(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks == "sqlite" {
			return // writes one transaction after another
		}
		pool := e.pool(t, dsn)
		pool.SetMaxOpenConns(3)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true})
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		var begun, wg sync.WaitGroup
		begun.Add(3)
		for i := range 3 {
			wg.Go(func() {
				err := within(t, pool, func(tx *sql.Tx) error {
					begun.Done()
					begun.Wait()
					_, err := s.NextTx(ctx, tx, fmt.Sprint("tenant", i*1000))
					return err
				})
				if err != nil && !transient(e, err) {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		require.NoError(t, ctx.Err())
	})
}

// transient reports whether a transaction lost against another, and is to be repeated.
func transient(e engine, err error) bool {
	return strings.Contains(err.Error(), map[string]string{"mysql": "Error 1213", "postgres": "40P01"}[e.speaks])
}

// TestGaplessSerializable: the first number, in a transaction that locks what it reads.
func TestGaplessSerializable(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks == "sqlite" {
			return // knows no other
		}
		pool := e.pool(t, dsn)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true})
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
	e := engines[slices.IndexFunc(engines, func(e engine) bool { return e.name == "mariadb" })]
	cfg, err := mysqldriver.ParseDSN(e.dsn(t))
	require.NoError(t, err)
	cfg.Params = map[string]string{"innodb_snapshot_isolation": "1"}
	pool := e.pool(t, cfg.FormatDSN())
	store, err := dbseq.NewSegments(pool, e.dialect)
	require.NoError(t, err)
	s := openSeries(t, store, series.Config{Gapless: true})
	next := func() error {
		return within(t, pool, func(tx *sql.Tx) error {
			_, err := s.NextTx(t.Context(), tx, "a")
			return err
		})
	}
	require.NoError(t, next(), "which creates the row")

	holds, err := pool.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = s.NextTx(t.Context(), holds, "a")
	require.NoError(t, err)
	waits := make(chan error, 1)
	go func() { waits <- next() }()
	require.Eventually(t, func() bool {
		var n int
		require.NoError(t, pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'").Scan(&n))
		return n > 0
	}, 30*time.Second, 200*time.Millisecond) // the table is refreshed if nobody has read it for 100 ms
	require.NoError(t, holds.Commit())
	require.NoError(t, <-waits)
}

// TestGaplessFirstNumbersWithAPoolOfItsOwn: the store has two connections of its own, as by fx, which the
// transactions do not use.
func TestGaplessFirstNumbersWithAPoolOfItsOwn(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks != "mysql" {
			return
		}
		pool := e.pool(t, dsn)
		s := openSeries(t, segments(t, e.db(t, dsn)), series.Config{Gapless: true})
		for round := range 5 {
			var begun, wg sync.WaitGroup
			begun.Add(24)
			for i := range 24 {
				wg.Go(func() {
					err := within(t, pool, func(tx *sql.Tx) error {
						begun.Done()
						begun.Wait()
						_, err := s.NextTx(t.Context(), tx, fmt.Sprint(round, "-", i))
						return err
					})
					if err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
		}
	})
}

// TestGaplessSeriesThatIssuesNothing: the table is gone, which is no fault of a transaction.
func TestGaplessSeriesThatIssuesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		pool, err := db.DB()
		require.NoError(t, err)
		s := openSeries(t, segments(t, db), series.Config{Gapless: true})
		_, err = pool.ExecContext(t.Context(), "DROP TABLE snowlease_segment")
		require.NoError(t, err)
		for range 3 {
			err := within(t, pool, func(tx *sql.Tx) error {
				_, err := s.NextTx(t.Context(), tx, "a")
				return err
			})
			require.ErrorIs(t, err, lease.ErrSetup)
		}
		st := s.Status()
		require.NotZero(t, st.Failures)
		require.False(t, st.FailingSince.IsZero())
		require.Equal(t, segment.StateWaiting, st.State)
		require.Error(t, s.Healthy(t.Context()))
	})
}

// BenchmarkGapless measures numbers in transactions of their own, by one caller and by eight that
// share a tenant.
func BenchmarkGapless(b *testing.B) {
	for _, e := range engines {
		for _, callers := range []int{1, 8} {
			b.Run(fmt.Sprintf("%s/%d", e.name, callers), func(b *testing.B) {
				pool := e.pool(b, e.dsn(b))
				store, err := dbseq.NewSegments(pool, e.dialect)
				require.NoError(b, err)
				s := openSeries(b, store, series.Config{Gapless: true})
				var wg sync.WaitGroup
				b.ResetTimer()
				for i := range callers {
					wg.Go(func() {
						for k := i; k < b.N; k += callers {
							err := within(b, pool, func(tx *sql.Tx) error {
								_, err := s.NextTx(b.Context(), tx, "a")
								return err
							})
							if err != nil {
								b.Error(err)
							}
						}
					})
				}
				wg.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "numbers/s")
			})
		}
	}
}

// TestSeriesBehindASnapshot: a transaction of MySQL that has read before does not see in a SELECT why
// it gets no number.
func TestSeriesBehindASnapshot(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.name != "mysql" { // MariaDB refuses by innodb_snapshot_isolation
			return
		}
		pool := e.pool(t, dsn)
		store, err := dbseq.NewSegments(pool, e.dialect)
		require.NoError(t, err)
		s := openSeries(t, store, series.Config{Gapless: true, Max: 2})
		take := func(tx *sql.Tx) error { _, err := s.NextTx(t.Context(), tx, "a"); return err }
		require.NoError(t, within(t, pool, take)) // 1

		tx, err := pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { _ = tx.Rollback() }()
		var n int
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM snowlease_segment").Scan(&n))
		require.NoError(t, within(t, pool, take)) // 2, the last
		require.ErrorContains(t, take(tx), "run it again")
	})
}
