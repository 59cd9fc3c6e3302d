//go:build prove

package dbseq_test

import (
	"database/sql"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

// pooled is a store whose centers share a pgxpool.Pool.
type pooled struct{ *store }

func (s pooled) Center(t testing.TB) lease.Center {
	c, err := dbseq.New(s.pgx(t))
	require.NoError(t, err)
	return c
}

func (s pooled) pgx(t testing.TB) (*sql.DB, dbseq.Dialect) {
	t.Helper()
	_, dsn := place(s.db)
	pool, err := pgxpool.New(t.Context(), dsn)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	db := stdlib.OpenDBFromPool(pool)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db, dbseq.Postgres
}

// TestPgxPool runs the contract on the pool of an application that uses pgx without
// database/sql.
func TestPgxPool(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(t testing.TB) leasetest.Store { return pooled{newStore(t, engines[2])} })
	s, err := dbseq.NewSegments(pooled{newStore(t, engines[2])}.pgx(t))
	require.NoError(t, err)
	require.NoError(t, segmentcheck.Run(t.Context(), s, "", nil))
}
