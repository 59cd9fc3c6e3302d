// Package ddl applies the shipped tables with tools that split files at semicolons.
package ddl

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	_ "github.com/go-sql-driver/mysql"
	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	onmysql "github.com/golang-migrate/migrate/v4/database/mysql"
	onpgx "github.com/golang-migrate/migrate/v4/database/pgx/v5"
	onsqlite "github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source/iofs"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	sqlmigrate "github.com/rubenv/sql-migrate"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/numbers"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// TestToolsApplyTheTables: goose, golang-migrate and sql-migrate apply the files of schema, and
// a store that may create no table finds what it needs.
func TestToolsApplyTheTables(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		name, driver, file string
		dsn                func(testing.TB) string
		goose              goose.Dialect
		migrate            func(*sql.DB) (database.Driver, error)
		dialect            string // of sql-migrate
	}{
		{
			"sqlite", "sqlite", "sqlite", func(t testing.TB) string { return filepath.Join(t.TempDir(), "app.db") }, goose.DialectSQLite3,
			func(db *sql.DB) (database.Driver, error) { return onsqlite.WithInstance(db, &onsqlite.Config{}) }, "sqlite3",
		},
		{
			"mariadb", "mysql", "mysql", func(t testing.TB) string { return testserver.MariaDB(t) + "&multiStatements=true" }, goose.DialectMySQL,
			func(db *sql.DB) (database.Driver, error) { return onmysql.WithInstance(db, &onmysql.Config{}) }, "mysql",
		},
		{
			"postgres", "pgx", "postgres", testserver.Postgres, goose.DialectPostgres,
			func(db *sql.DB) (database.Driver, error) {
				return onpgx.WithInstance(db, &onpgx.Config{MultiStatementEnabled: true, MultiStatementMaxSize: 1 << 20})
			}, "postgres",
		},
	} {
		for tool, apply := range map[string]func(t *testing.T, db *sql.DB, text string){
			"goose": func(t *testing.T, db *sql.DB, text string) {
				p, err := goose.NewProvider(e.goose, db, fstest.MapFS{"1_ids.sql": {Data: []byte("-- +goose Up\n" + text)}})
				require.NoError(t, err)
				_, err = p.Up(t.Context())
				require.NoError(t, err)
			},
			"golang-migrate": func(t *testing.T, db *sql.DB, text string) {
				files, err := iofs.New(fstest.MapFS{"1_ids.up.sql": {Data: []byte(text)}}, ".")
				require.NoError(t, err)
				driver, err := e.migrate(db)
				require.NoError(t, err)
				m, err := migrate.NewWithInstance("iofs", files, e.name, driver)
				require.NoError(t, err)
				defer m.Close() // which has a connection
				require.NoError(t, m.Up())
			},
			"sql-migrate": func(t *testing.T, db *sql.DB, text string) {
				m, err := sqlmigrate.ParseMigration("1", strings.NewReader("-- +migrate Up\n"+text))
				require.NoError(t, err)
				_, err = sqlmigrate.ExecContext(t.Context(), db, e.dialect, &sqlmigrate.MemoryMigrationSource{Migrations: []*sqlmigrate.Migration{m}}, sqlmigrate.Up)
				require.NoError(t, err)
			},
		} {
			t.Run(e.name+"/"+tool, func(t *testing.T) {
				t.Parallel()
				dsn, text := e.dsn(t), ""
				for _, of := range []string{"dbseq", "internal/sqlnumbers"} {
					part, err := os.ReadFile("../../../" + of + "/schema/" + e.file + ".sql")
					require.NoError(t, err)
					text += string(part)
					require.NotRegexp(t, "--.*;", string(part), "a remark ends a statement")
				}
				db, err := sql.Open(e.driver, dsn)
				require.NoError(t, err)
				defer db.Close()
				apply(t, db, text)

				center, err := dbseq.Open(e.driver, dsn, dbseq.WithoutMigrate())
				require.NoError(t, err)
				defer center.Close()
				require.NoError(t, numbers.Create(t.Context(), center.Numbers(), numbers.SegmentConfig{Namespace: "shop", Name: "orders"}))
				slots, err := center.Extras().Lister.Slots(t.Context(), "orders")
				require.NoError(t, err)
				require.Empty(t, slots)
			})
		}
	}
}
