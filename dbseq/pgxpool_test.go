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
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

// pooled is a store whose centers share a pgxpool.Pool.
type pooled struct{ *store }

func (s pooled) Center(t testing.TB) lease.Center {
	pool, dialect := pgxPool(t, s.db)
	c, err := dbseq.New(pool, dialect, s.opts...)
	require.NoError(t, err)
	return s.shift(c)
}

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

// TestPgxPool runs the contract on the pool of an application that uses pgx without
// database/sql.
func TestPgxPool(t *testing.T) {
	t.Parallel()
	e := engines[2]
	direct := stores(t, e)
	leasetest.Run(t, func(t testing.TB) leasetest.Store { return pooled{direct(t).(*store)} })
	pool, dialect := pgxPool(t, e.db(t, e.dsn(t)))
	require.NoError(t, segmentcheck.Run(t.Context(), segmentsOn(t, pool, dialect), "shop/", nil))
}
