package publicid_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) { testserver.Main(m) }

const createRows = "CREATE TABLE publicid_rows (id BIGINT PRIMARY KEY, buyer BIGINT)"

// In each database an ID is a BIGINT, as a parameter and as a column, prepared and not.
func TestIDInDatabases(t *testing.T) {
	t.Parallel()
	for _, d := range []struct {
		name, driver string
		dsn          func(t *testing.T) string
	}{
		{"sqlite", "sqlite", func(t *testing.T) string { return filepath.Join(t.TempDir(), "test.db") }},
		{"mariadb", "mysql", func(t *testing.T) string { return testserver.MariaDB(t) }},
		{"mariadb without prepared statements", "mysql", func(t *testing.T) string { return testserver.MariaDB(t) + "&interpolateParams=true" }},
		{"postgres", "pgx", func(t *testing.T) string { return testserver.Postgres(t) }},
		{"postgres, simple protocol", "pgx", func(t *testing.T) string { return testserver.Postgres(t) + " default_query_exec_mode=simple_protocol" }},
	} {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open(d.driver, d.dsn(t))
			require.NoError(t, err)
			defer db.Close()
			q := func(query string) string {
				if d.driver == "pgx" {
					query = strings.Replace(strings.Replace(query, "?", "$1", 1), "?", "$2", 1)
				}
				return query
			}
			_, err = db.ExecContext(t.Context(), createRows)
			require.NoError(t, err)
			buyer := customerID(1<<62 + 1)
			for _, row := range [][2]any{{orderID(someID), buyer}, {orderID(2), (*customerID)(nil)}, {orderID(3), sql.Null[customerID]{V: buyer, Valid: true}}} {
				_, err = db.ExecContext(t.Context(), q("INSERT INTO publicid_rows VALUES (?, ?)"), row[0], row[1])
				require.NoError(t, err)
			}
			var (
				id     orderID
				of     customerID
				null   sql.Null[customerID]
				none   *customerID
				number int64
			)
			row := func(id any, dst ...any) error {
				return db.QueryRowContext(t.Context(), q("SELECT id, buyer, buyer, buyer FROM publicid_rows WHERE id = ?"), id).Scan(dst...)
			}
			require.NoError(t, row(orderID(someID), &id, &of, &null, &number))
			require.EqualValues(t, int64(someID), id)
			require.Equal(t, buyer, of)
			require.Equal(t, sql.Null[customerID]{V: buyer, Valid: true}, null)
			require.EqualValues(t, buyer, number)
			require.NoError(t, row(orderID(2), &number, &null, &none, &none))
			require.False(t, null.Valid)
			require.Nil(t, none)
			require.ErrorContains(t, row(orderID(2), &id, &of, &null, &none), "the column is NULL")
			require.ErrorIs(t, row(orderID(4), &id, &of, &null, &none), sql.ErrNoRows)
		})
	}
}
