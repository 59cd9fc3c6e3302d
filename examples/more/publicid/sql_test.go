package publicid

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/jmoiron/sqlx"
	"github.com/stretchr/testify/require"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	_ "modernc.org/sqlite" // driver "sqlite"
)

// rows are what each library writes and reads.
func rows() []order {
	first := orderID(id)
	return []order{{ID: first}, {ID: 1<<62 + 1, After: &first}}
}

func TestSqlx(t *testing.T) {
	t.Parallel()
	db, err := sqlx.Open("sqlite", filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, err)
	defer db.Close()
	_, err = db.ExecContext(t.Context(), `CREATE TABLE orders (id BIGINT PRIMARY KEY, after BIGINT)`)
	require.NoError(t, err)
	_, err = db.NamedExecContext(t.Context(), `INSERT INTO orders (id, after) VALUES (:id, :after)`, rows())
	require.NoError(t, err)
	query, args, err := sqlx.In(`SELECT id, after FROM orders WHERE id IN (?) ORDER BY id`, []orderID{id, 1<<62 + 1})
	require.NoError(t, err)
	var read []order
	require.NoError(t, db.SelectContext(t.Context(), &read, query, args...))
	require.Equal(t, rows(), read)
}

func TestBun(t *testing.T) {
	t.Parallel()
	conns, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db"))
	require.NoError(t, err)
	db := bun.NewDB(conns, sqlitedialect.New())
	defer db.Close()
	_, err = db.NewCreateTable().Model((*order)(nil)).Exec(t.Context())
	require.NoError(t, err)
	in := rows()
	_, err = db.NewInsert().Model(&in).Exec(t.Context())
	require.NoError(t, err)
	var read []order
	require.NoError(t, db.NewSelect().Model(&read).Where("id IN (?)", bun.List([]orderID{id, 1<<62 + 1})).Order("id").Scan(t.Context()))
	require.Equal(t, rows(), read)
	var kind string
	require.NoError(t, db.NewSelect().ColumnExpr("typeof(id)").TableExpr("orders").Limit(1).Scan(t.Context(), &kind))
	require.Equal(t, "integer", kind)
}
