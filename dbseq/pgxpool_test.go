//go:build prove

package dbseq_test

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
)

func pgxPool(t testing.TB, db *gorm.DB) (*sql.DB, dbseq.Dialect) {
	t.Helper()
	_, dsn := place(db)
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	opened := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { require.NoError(t, opened.Close()) })
	return opened, dbseq.Postgres
}

// TestPgxPool: an application that uses pgx without database/sql has a pool of its own.
func TestPgxPool(t *testing.T) {
	t.Parallel()
	db := engines[2].db(t, engines[2].dsn(t))
	pool, dialect := pgxPool(t, db)
	require.NoError(t, segmentcheck.Run(t.Context(), segmentsOn(t, pool, dialect), "shop/", nil))
	c, err := dbseq.New(pool, dialect)
	require.NoError(t, err)
	first(t, c, request("orders", 2))
	require.NoError(t, everyStatementOf(t, db, c))
}
