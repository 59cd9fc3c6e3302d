package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/numbers"
)

// TestGaplessInATransactionOfBun: bun.Tx itself replaces placeholders, of bun's form alone.
func TestGaplessInATransactionOfBun(t *testing.T) {
	pool, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "b.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	db := bun.NewDB(pool, sqlitedialect.New())
	defer db.Close()
	center, err := dbseq.New(pool, dbseq.SQLite)
	require.NoError(t, err)
	invoices, err := numbers.OpenSeries(t.Context(), center.Numbers(), numbers.SeriesConfig{Namespace: "shop", Name: "invoices", Gapless: true})
	require.NoError(t, err)
	require.NoError(t, db.RunInTx(t.Context(), nil, func(ctx context.Context, tx bun.Tx) error {
		number, err := invoices.NextTx(ctx, tx.Tx, "acme")
		require.EqualValues(t, 1, number.Value)
		return err
	}))
}
