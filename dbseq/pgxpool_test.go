//go:build prove

package dbseq_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
)

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
