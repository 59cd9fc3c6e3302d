//go:build prove

package dbseq_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease/leasetest"
)

// TestContractByAClock runs the contract on a clock that only Sleep moves.
func TestContractByAClock(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, byAClock)
}

// TestContractNever runs on one engine, because the statements differ little.
func TestContractNever(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, stores(t, engines[1], dbseq.WithDurable(true)))
}

// TestContractOddSessions runs the contracts under unusual session settings.
func TestContractOddSessions(t *testing.T) {
	with := func(e engine, settings func(t testing.TB) string) engine {
		dsn := e.dsn
		e.dsn = func(t testing.TB) string { return dsn(t) + settings(t) }
		return e
	}
	isolation := func(t testing.TB, level string) string {
		return transaction(t, testserver.MariaDB(t), "isolation", "'"+level+"'")
	}
	for name, e := range map[string]engine{
		"mysql serializable, ansi, +09:00, increment 2": with(engines[1], func(t testing.TB) string {
			return isolation(t, "SERIALIZABLE") + "&sql_mode='ANSI,TRADITIONAL,NO_UNSIGNED_SUBTRACTION'&time_zone='%2B09:00'&auto_increment_increment=2"
		}),
		"mysql read committed, prepared, found rows, simultaneous assignment, which only MariaDB has": with(engines[1], func(t testing.TB) string {
			return isolation(t, "READ-COMMITTED") + "&interpolateParams=false&clientFoundRows=true&sql_mode=IF(VERSION()LIKE'%25MariaDB%25','SIMULTANEOUS_ASSIGNMENT','')"
		}),
		"postgres serializable, simple, Tokyo": with(engines[2], func(testing.TB) string {
			return " default_transaction_isolation=serializable default_query_exec_mode=simple_protocol TimeZone=Asia/Tokyo"
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, segmentcheck.Run(t.Context(), segments(t, e.db(t, e.dsn(t)), dbseq.WithTablePrefix("x_")), "shop/", nil))
			leasetest.Run(t, stores(t, e))
		})
	}
}

// TestPgxPool: an application that uses pgx without database/sql has a pool of its own.
func TestPgxPool(t *testing.T) {
	t.Parallel()
	dsn := engines[2].dsn(t)
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, segmentcheck.Run(t.Context(), segmentsOn(t, db, dbseq.Postgres), "shop/", nil))
	c, err := dbseq.New(db, dbseq.Postgres)
	require.NoError(t, err)
	first(t, c, request("orders", 2))
	require.NoError(t, everyStatementOf(t, engines[2].db(t, dsn), c))
}
