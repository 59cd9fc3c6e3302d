package sqlc

import (
	"database/sql"
	_ "embed"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite" // driver "sqlite"

	"github.com/snowlease/snowlease/publicid"
)

//go:embed schema.sql
var schema string

func TestSqlc(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), schema)
	require.NoError(t, err)
	queries := New(db)
	first, err := publicid.Parse[Order]("ord_0saa6m2dr40006")
	require.NoError(t, err)
	stored := []Order{{ID: first}, {ID: 1<<62 + 1, After: &first}}
	for _, o := range stored {
		require.NoError(t, queries.CreateOrder(t.Context(), CreateOrderParams(o)))
	}
	read, err := queries.Orders(t.Context(), []publicid.ID[Order]{first, stored[1].ID})
	require.NoError(t, err)
	require.Equal(t, stored, read)
	one, err := queries.Order(t.Context(), first)
	require.NoError(t, err)
	text, err := json.Marshal(one)
	require.NoError(t, err)
	require.JSONEq(t, `{"id": "ord_0saa6m2dr40006", "after": null}`, string(text))
	_, err = queries.Order(t.Context(), 5)
	require.ErrorIs(t, err, sql.ErrNoRows)
}
