package gormplugin_test

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math/big"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libtnb/sqlite"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"
	"gorm.io/gorm/schema"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) {
	// Nothing stops the goroutine of GORM's cache of prepared statements.
	testserver.Main(m, goleak.IgnoreAnyFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}

// A dialect opens an empty database for GORM, and a second connection without GORM.
type dialect struct {
	name string
	open func(testing.TB) (func() gorm.Dialector, *sql.DB)
}

func dialects() []dialect {
	return []dialect{
		{"sqlite", func(t testing.TB) (func() gorm.Dialector, *sql.DB) {
			dsn := sqliteDSN(t)
			return func() gorm.Dialector { return sqlite.Open(dsn) }, second(t, "sqlite", dsn)
		}},
		{"mariadb", func(t testing.TB) (func() gorm.Dialector, *sql.DB) {
			dsn := testserver.MariaDB(t)
			return func() gorm.Dialector { return mysql.Open(dsn) }, second(t, "mysql", dsn)
		}},
		// Without RETURNING, as GORM talks to MySQL and old MariaDBs.
		{"mariadb without RETURNING", func(t testing.TB) (func() gorm.Dialector, *sql.DB) {
			dsn := testserver.MariaDB(t)
			return func() gorm.Dialector {
				return mysql.New(mysql.Config{DSN: dsn, DisableWithReturning: true})
			}, second(t, "mysql", dsn)
		}},
		{"mysql", func(t testing.TB) (func() gorm.Dialector, *sql.DB) {
			dsn := testserver.MySQL(t)
			return func() gorm.Dialector { return mysql.Open(dsn) }, second(t, "mysql", dsn)
		}},
		{"postgres", func(t testing.TB) (func() gorm.Dialector, *sql.DB) {
			dsn := testserver.Postgres(t)
			return func() gorm.Dialector { return postgres.Open(dsn) }, second(t, "pgx", dsn)
		}},
	}
}

// each runs a test on an empty database of each dialect.
func each(t *testing.T, test func(t *testing.T, dialect string, dialector func() gorm.Dialector, other *sql.DB)) {
	for _, d := range dialects() {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			dialector, other := d.open(t)
			test(t, d.name, dialector, other)
		})
	}
}

func sqliteDSN(t testing.TB) string {
	return filepath.Join(t.TempDir(), "test.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(off)"
}

func second(t testing.TB, driver, dsn string) *sql.DB {
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func open(t testing.TB, d gorm.Dialector, p gorm.Plugin, models ...any) *gorm.DB {
	db, err := gorm.Open(d, &gorm.Config{Logger: logger.Discard, TranslateError: true})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	if p != nil {
		require.NoError(t, db.Use(p))
	}
	require.NoError(t, db.AutoMigrate(models...))
	return db
}

func openSQLite(t testing.TB, p gorm.Plugin, models ...any) *gorm.DB {
	return open(t, sqlite.Open(sqliteDSN(t)), p, models...)
}

const worker = 21

// newGenerator returns a real generator with a lease of an hour.
func newGenerator(t require.TestingT) *generator.Generator {
	g, now := generator.New(snowflake.Layout{}), time.Now().UnixMilli()
	_, err := g.Adopt(generator.Range{Worker: worker, Floor: now - 1, Ceiling: now + time.Hour.Milliseconds(), Now: now, At: g.Elapsed()})
	require.NoError(t, err)
	return g
}

// Config.Convert of the suite makes base36 and bytes keys.
func convert(key *schema.Field, id int64) (any, error) {
	switch key.Schema.Name {
	case "Base36", "DeclaredBase36":
		return strconv.FormatInt(id, 36), nil
	case "Base62":
		return big.NewInt(id).Text(62), nil
	case "Bytes":
		return fmt.Append(nil, id), nil
	}
	return nil, nil
}

// A cell is one case of the suite on one dialect.
type cell struct {
	*testing.T
	db        *gorm.DB
	other     *sql.DB
	dialector func() gorm.Dialector // of the same database
	returning bool                  // the dialect returns what it has stored
	seq       *atomic.Int64
	source    *noting // of db; may be nil
}

// empty deletes the rows of the tables that have any, the last of the tables first.
func (c cell) empty(tables []string) {
	full, into := make([]bool, len(tables)), make([]any, len(tables))
	for i := range tables {
		into[i] = &full[i]
	}
	query := "SELECT EXISTS(SELECT 1 FROM " + strings.Join(tables, "), EXISTS(SELECT 1 FROM ") + ")"
	require.NoError(c, c.other.QueryRow(query).Scan(into...))
	for i, table := range slices.Backward(tables) {
		if full[i] {
			_, err := c.other.Exec("DELETE FROM " + table)
			require.NoError(c, err)
		}
	}
}

// noting notes the ids that it gives.
type noting struct {
	snowflake.Source
	given sync.Map
}

func (n *noting) NextIDs(ctx context.Context, dst []int64) error {
	err := n.Source.NextIDs(ctx, dst)
	for _, id := range dst {
		n.given.Store(id, true)
	}
	return err
}

// name returns a unique string.
func (c cell) name() string { return fmt.Sprintf("name %d", c.seq.Add(1)) }

// based stores a row.
func (c cell) based() Based {
	row := Based{Name: c.name()}
	require.NoError(c, c.db.Create(&row).Error)
	return row
}

// holds checks over the second connection that the table has exactly these keys.
func (c cell) holds(table, column string, keys ...any) {
	c.Helper()
	rows, err := c.other.Query("SELECT " + column + " FROM " + table)
	require.NoError(c, err)
	defer rows.Close()
	var stored []string
	for rows.Next() {
		var key string
		require.NoError(c, rows.Scan(&key))
		stored = append(stored, key)
	}
	require.NoError(c, rows.Err())
	want := make([]string, len(keys))
	for i, key := range keys {
		want[i] = fmt.Sprint(key)
	}
	require.ElementsMatch(c, want, stored)
}

// issued checks that the keys are distinct and were made recently by this worker.
func (c cell) issued(keys ...any) {
	c.Helper()
	seen := map[int64]bool{}
	for _, key := range keys {
		id, err := snowflake.ParseID(fmt.Sprint(key))
		require.NoError(c, err)
		require.NotZero(c, id, "the key was not filled")
		p, err := snowflake.Layout{}.Decode(int64(id))
		require.NoError(c, err)
		require.EqualValues(c, worker, p.Worker, "of the key %v", key)
		require.WithinDuration(c, time.Now(), p.Time, time.Minute, "the key %v is not an id of now", key)
		if c.source != nil {
			_, given := c.source.given.Load(int64(id))
			require.True(c, given, "the key %v is not an id that the plugin was given", key)
		}
		require.False(c, seen[int64(id)], "twice: %d", id)
		seen[int64(id)] = true
	}
}

// stored checks that a statement succeeded, and that the table has exactly its rows. Their keys are
// those given, or else ids that the plugin got just now, in the order of the rows.
func (c cell) stored(err error, rows any, given ...any) {
	c.Helper()
	require.NoError(c, err)
	stmt := &gorm.Statement{DB: c.db}
	require.NoError(c, stmt.Parse(rows))
	field := stmt.Schema.PrioritizedPrimaryField
	list := reflect.Indirect(reflect.Indirect(reflect.ValueOf(rows)))
	if list.Kind() == reflect.Struct {
		list = reflect.Append(reflect.MakeSlice(reflect.SliceOf(list.Type()), 0, 1), list)
	}
	var keys, issued []any
	last := int64(0)
	for i := range list.Len() {
		key, _ := field.ValueOf(c.Context(), reflect.Indirect(list.Index(i)))
		if v, ok := key.(driver.Valuer); ok {
			key, err = v.Value()
			require.NoError(c, err)
		}
		key = fmt.Sprintf(map[bool]string{true: "%s", false: "%v"}[field.GORMDataType == schema.Bytes], reflect.Indirect(reflect.ValueOf(key)))
		keys = append(keys, key)
		if slices.ContainsFunc(given, func(g any) bool { return fmt.Sprint(g) == key }) {
			continue
		}
		id, ok := new(big.Int).SetString(key.(string), cmp.Or(map[string]int{"Base36": 36, "Base62": 62}[stmt.Schema.Name], 10))
		require.True(c, ok, key)
		require.Greater(c, id.Int64(), last)
		last, issued = id.Int64(), append(issued, id.Int64())
	}
	require.Len(c, issued, len(keys)-len(given))
	c.issued(issued...)
	c.holds(stmt.Table, field.DBName, keys...)
}

// filled combines holds and issued.
func (c cell) filled(table, column string, keys ...any) {
	c.Helper()
	c.issued(keys...)
	c.holds(table, column, keys...)
}

// ids lists the values of f for the rows.
func ids[T, K any](rows []T, f func(T) K) []any {
	out := make([]any, len(rows))
	for i, row := range rows {
		out[i] = f(row)
	}
	return out
}
