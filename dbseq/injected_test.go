//go:build prove

package dbseq_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// ready returns a center on SQLite that has lent a worker id, and its counter.
func ready(t *testing.T) (*gorm.DB, *dbseq.Center, *counter, lease.Grant) {
	t.Helper()
	dsn := engines[0].dsn(t)
	db := engines[0].db(t, dsn)
	c, n := counted(t, engines[0], dsn)
	return db, c, n, first(t, c, request("orders", 2))
}

// broken rows end with an error.
type broken struct {
	driver.Rows
	left int
}

func (b *broken) Next(row []driver.Value) error {
	if b.left--; b.left < 0 {
		return errReply
	}
	return b.Rows.Next(row)
}

func TestAnswerThatBreaksOff(t *testing.T) {
	t.Parallel()
	_, c, n, g := ready(t)
	for left := range 2 {
		n.rows = func(_ string, r driver.Rows) driver.Rows { return &broken{r, left} }
		got, err := c.Acquire(t.Context(), request("orders", 2))
		require.ErrorIs(t, err, errReply)
		require.Zero(t, got)
		got, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, errReply)
		require.Zero(t, got)
		require.ErrorIs(t, c.Release(t.Context(), g, g.Now), errReply)
		_, err = c.Extras().Lister.Slots(t.Context(), "orders")
		require.ErrorIs(t, err, errReply)
	}
	n.rows = nil
	_, err := c.Renew(t.Context(), g)
	require.NoError(t, err)
}

// TestTransactionThatFails: Init creates all records or none.
func TestTransactionThatFails(t *testing.T) {
	t.Parallel()
	db, c, n, _ := ready(t)
	req, yes, no := request("bills", 2), true, false
	for name, begin := range map[string]func(driver.Tx) (driver.Tx, error){
		"at its begin": func(tx driver.Tx) (driver.Tx, error) { return nil, errors.Join(errReply, tx.Rollback()) },
		"at its end":   func(tx driver.Tx) (driver.Tx, error) { return failingTx{tx, &yes}, nil },
	} {
		n.begin = begin
		require.ErrorIs(t, c.Extras().Init(t.Context(), req), errReply, name)
		require.Zero(t, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE ns = 'bills'"), name)
	}
	n.begin = func(tx driver.Tx) (driver.Tx, error) { return failingTx{tx, &no}, nil }
	n.before = failing("INTO snowlease_slot", errReply)
	err := c.Extras().Init(t.Context(), req)
	require.ErrorIs(t, err, errReply)
	require.ErrorContains(t, err, "rolled back", "both are told")
	n.begin, n.before = nil, nil
	require.NoError(t, c.Extras().Init(t.Context(), req))
	require.EqualValues(t, 2, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE ns = 'bills'"))
}

// TestLentByACommitThatFails: on a given pool of MySQL a statement has a transaction of its own. If
// that is not committed, no worker id is lent by it.
func TestLentByACommitThatFails(t *testing.T) {
	t.Parallel()
	e := engines[1]
	dsn := e.dsn(t)
	db := e.db(t, dsn)
	pool, n := countedPool(t, e, dsn)
	c, err := dbseq.New(pool, e.dialect)
	require.NoError(t, err)
	first(t, c, request("orders", 2))

	lending := false
	n.before = func(_ int64, query string) error {
		lending = strings.HasPrefix(query, "UPDATE snowlease_slot")
		return nil
	}
	n.begin = func(tx driver.Tx) (driver.Tx, error) { return failingTx{tx, &lending}, nil }
	g, err := c.Acquire(t.Context(), request("orders", 2))
	require.ErrorIs(t, err, errReply)
	require.Zero(t, g)
	n.before, n.begin = nil, nil
	require.EqualValues(t, 1, number(t, db, "SELECT COUNT(*) FROM snowlease_slot WHERE since_ms > 0"))
}

// A failingTx fails on Commit if commit is set, and else on Rollback.
type failingTx struct {
	driver.Tx
	commit *bool
}

func (tx failingTx) Commit() error {
	if *tx.commit {
		return errors.Join(errReply, tx.Tx.Rollback())
	}
	return tx.Tx.Commit()
}

func (tx failingTx) Rollback() error {
	return errors.Join(errors.New("not rolled back"), tx.Tx.Rollback())
}

// TestRecordsThatChangeAllTheTime: if statements go to several servers, the look sees a
// loss that the change does not see.
func TestRecordsThatChangeAllTheTime(t *testing.T) {
	t.Parallel()
	db, c, n, g := ready(t)
	ctx, cancel := context.WithCancel(t.Context())
	changes := 0
	n.before = func(_ int64, query string) error {
		switch {
		case strings.Contains(query, "m.ns IS NOT NULL"):
			return db.Exec("UPDATE snowlease_slot SET ns = 'away' WHERE ns = 'orders' AND slot = 1").Error
		case strings.HasPrefix(query, "UPDATE snowlease_meta"):
			if changes++; changes == 4 {
				cancel()
			}
			return db.Exec("UPDATE snowlease_slot SET ns = 'orders' WHERE ns = 'away'").Error
		}
		return nil
	}
	_, err := c.Acquire(ctx, request("orders", 2))
	require.ErrorContains(t, err, "several servers")
	n.before = nil
	rawExec(t, db, "UPDATE snowlease_slot SET ns = 'orders' WHERE ns = 'away'")
	_, err = c.Renew(t.Context(), g)
	require.NoError(t, err)
}

// TestContextThatEndsInBetween: the error wraps both causes.
func TestContextThatEndsInBetween(t *testing.T) {
	t.Parallel()
	for _, failure := range []error{errReply, busy{}} {
		_, c, n, g := ready(t)
		ctx, cancel := context.WithCancel(t.Context())
		n.before = func(int64, string) error {
			cancel()
			return failure
		}
		_, err := c.Renew(ctx, g)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "renew the worker id")
		if failure == errReply { //nolint:errorlint // it is one of the two above
			require.ErrorIs(t, err, errReply)
		}
	}
}

// TestServerIsAskedAnew: another server may be of another kind, so it is identified
// again.
func TestServerIsAskedAnew(t *testing.T) {
	t.Parallel()
	e := engines[1]
	dsn := e.dsn(t)
	db := e.db(t, dsn)
	c, n := counted(t, e, dsn)
	n.rows = func(query string, r driver.Rows) driver.Rows {
		if strings.HasPrefix(query, "SHOW VARIABLES") {
			return &broken{r, 1}
		}
		return r
	}
	_, err := c.Acquire(t.Context(), request("orders", 2))
	require.ErrorIs(t, err, errReply)
	n.rows = nil
	g := first(t, c, request("orders", 2))

	rawExec(t, db, "UPDATE snowlease_meta SET incarnation = 'x' WHERE ns = 'orders'")
	n.before = failing("SHOW VARIABLES", errReply)
	_, err = c.Renew(t.Context(), g)
	require.ErrorIs(t, err, errReply)
	n.before = nil
	_, err = c.Renew(t.Context(), g)
	require.True(t, quarantined(err), err)
}

// logic is SQLite's error for any wrong statement, including a missing table.
type logic struct{}

func (logic) Error() string { return "SQL logic error" }
func (logic) Code() int     { return 1 }

func TestFaultsWhileItIsPrepared(t *testing.T) {
	t.Parallel()
	fresh := func() (*gorm.DB, *dbseq.Center, *counter) {
		dsn := engines[0].dsn(t)
		db := engines[0].db(t, dsn)
		c, n := counted(t, engines[0], dsn)
		return db, c, n
	}
	t.Run("a clock that is far off", func(t *testing.T) {
		db, c, _ := fresh()
		req := request("orders", 2)
		req.CallerTime = time.Now().Add(time.Hour).UnixMilli()
		_, err := c.Acquire(t.Context(), req)
		require.ErrorAs(t, err, new(*lease.ClockError))
		require.False(t, db.Migrator().HasTable("snowlease_slot"), "before anything is written")
	})
	t.Run("a context that ends while another creates the tables", func(t *testing.T) {
		_, c, n := fresh()
		ctx, cancel := context.WithCancel(t.Context())
		n.before = func(_ int64, query string) error {
			if strings.HasPrefix(query, "CREATE TABLE") {
				cancel()
				return busy{}
			}
			return nil
		}
		_, err := c.Acquire(ctx, request("orders", 2))
		require.ErrorIs(t, err, context.Canceled)
	})
	t.Run("a statement that fails though its tables are there", func(t *testing.T) {
		_, c, n, g := ready(t)
		n.before = failing("UPDATE snowlease_slot", logic{})
		got, err := c.Renew(t.Context(), g)
		require.ErrorIs(t, err, logic{})
		require.Zero(t, got)
	})
}
