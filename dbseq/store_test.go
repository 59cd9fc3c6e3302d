package dbseq_test

import (
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	libsqlite "github.com/libtnb/sqlite"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/lease/leasetest"
)

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // tests mostly wait for leases to expire; -parallel overrides this
	// GORM's cache of prepared statements leaks a goroutine.
	testserver.Main(m, goleak.IgnoreTopFunction("gorm.io/gorm/internal/lru.NewLRU[...].func1"))
}

// An engine is a kind of database.
type engine struct {
	name    string
	dialect dbseq.Dialect
	driver  string
	// speaks is whose SQL and DSNs the tests may use: mysql, postgres or sqlite.
	speaks string
	// dsn returns the DSN of a new database.
	dsn  func(t testing.TB) string
	open func(dsn string) gorm.Dialector
	// start starts a server, unless the database is a file.
	start func(t testing.TB, args ...string) *testserver.Server
}

var engines = []engine{
	{"sqlite", dbseq.SQLite, "sqlite", "sqlite", func(t testing.TB) string {
		return "file:" + filepath.Join(t.TempDir(), "app.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	}, libsqlite.Open, nil},
	{"mariadb", dbseq.MySQL, "mysql", "mysql", testserver.MariaDB, mysql.Open, testserver.NewMariaDB},
	{"postgres", dbseq.Postgres, "pgx", "postgres", testserver.Postgres, postgres.Open, testserver.NewPostgres},
	{"mysql", dbseq.MySQL, "mysql", "mysql", testserver.MySQL, mysql.Open, testserver.NewMySQL},
}

// TestEngines: the tests run on each dialect, in SQL that they know. They restart its server,
// so that they notice an incarnation that stays the same.
func TestEngines(t *testing.T) {
	t.Parallel()
	files, tested := dbseq.Files(), map[dbseq.Dialect]bool{}
	for _, e := range engines {
		file, known := files[e.dialect]
		require.True(t, known, "%s is not in dialects", e.dialect)
		require.Equal(t, file, e.start == nil, "%s: tests cannot start a server", e.name)
		require.Contains(t, []string{"mysql", "postgres", "sqlite"}, e.speaks, "tests that look at speaks lack a branch")
		tested[e.dialect] = true
	}
	require.Len(t, tested, len(files), "a dialect has no engine")
}

// onEach runs f for each engine, each time on a new database.
func onEach(t *testing.T, f func(t *testing.T, e engine, dsn string)) {
	t.Helper()
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			f(t, e, e.dsn(t))
		})
	}
}

// db opens a *gorm.DB beside centers, to change and look at their tables.
func (e engine) db(t testing.TB, dsn string) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(placed{e.open(dsn), e, dsn}, &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return db
}

// placed is GORM's dialect of a database that knows its place.
type placed struct {
	gorm.Dialector
	engine engine
	dsn    string
}

// place returns the driver and the DSN of db.
func place(db *gorm.DB) (driver, dsn string) {
	p := db.Dialector.(placed)
	return p.engine.driver, p.dsn
}

// center returns a center beside db.
func center(t testing.TB, db *gorm.DB, opts ...dbseq.Option) *dbseq.Center {
	t.Helper()
	driver, dsn := place(db)
	c, err := dbseq.Open(driver, dsn, opts...)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	require.Equal(t, db.Dialector.(placed).engine.dialect, c.Dialect())
	return c
}

// request returns a valid request of a new owner.
func request(namespace string, pool int64) lease.Request {
	return lease.Request{
		Namespace: namespace, Layout: "41/5/0/17", Holder: "test", Owner: lease.NewOwner(),
		Pool: pool, Last: pool - 1, TTL: 10 * time.Minute, MaxTTL: 10 * time.Minute, Skew: 2 * time.Second,
	}
}

// acquire requires Acquire to succeed.
func acquire(t testing.TB, c lease.Center, req lease.Request) lease.Grant {
	t.Helper()
	g, err := c.Acquire(t.Context(), req)
	require.NoError(t, err)
	return g
}

// first opens the namespace of req, which must be new, and acquires.
func first(t testing.TB, c *dbseq.Center, req lease.Request) lease.Grant {
	t.Helper()
	require.NoError(t, c.Extras().Init(t.Context(), req))
	return acquire(t, c, req)
}

// soon makes req one that waits only milliseconds after a loss.
func soon(req lease.Request) lease.Request {
	req.TTL, req.Skew, req.Ahead = req.MaxTTL/2, 0, req.MaxTTL
	return req
}

// acquireSoon acquires when a quarantine has passed.
func acquireSoon(t testing.TB, c lease.Center, req lease.Request) (g lease.Grant) {
	t.Helper()
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		var err error
		g, err = c.Acquire(t.Context(), req)
		require.NoError(ct, err)
	}, 20*time.Second, 5*time.Millisecond)
	return g
}

func rawExec(t testing.TB, db *gorm.DB, query string, values ...any) {
	t.Helper()
	require.NoError(t, db.Exec(query, values...).Error)
}

// number returns the number that a query selects.
func number(t testing.TB, db *gorm.DB, query string, values ...any) (n int64) {
	t.Helper()
	require.NoError(t, db.Raw(query, values...).Row().Scan(&n))
	return n
}

// A store is a database with the faults of leasetest.
type store struct {
	db       *gorm.DB
	opts     []dbseq.Option
	compared bool
	other    atomic.Int64
}

func newStore(t testing.TB, e engine, opts ...dbseq.Option) *store {
	return &store{db: e.db(t, e.dsn(t)), opts: opts, compared: len(opts) == 0}
}

func (s *store) Center(t testing.TB) lease.Center { return center(t, s.db, s.opts...) }
func (s *store) Sleep(d time.Duration)            { time.Sleep(d) }
func (s *store) Traits() leasetest.Traits {
	return leasetest.Traits{Incarnation: s.compared, RenewsAlone: true}
}

func (s *store) Wipe(t testing.TB) {
	rawExec(t, s.db, "DELETE FROM snowlease_slot")
	rawExec(t, s.db, "DELETE FROM snowlease_ticket")
	rawExec(t, s.db, "DELETE FROM snowlease_meta")
}

func (s *store) Drop(t testing.TB, namespace string, what leasetest.Records) {
	switch what {
	case leasetest.OneSlot, leasetest.OneMark:
		rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE ns = ? AND slot = 0", namespace)
	case leasetest.Owners:
		rawExec(t, s.db, "UPDATE snowlease_slot SET owner = '', holder = '', since_ms = 0, ver = ver + 1 WHERE ns = ?", namespace)
	case leasetest.Meta:
		rawExec(t, s.db, "DELETE FROM snowlease_meta WHERE ns = ?", namespace)
	}
}

// columns are those that have what leasetest edits.
var columns = map[string]string{
	"pin": "pin", "quarantine": "quarantine_ms", "owner": "owner", "token": "token",
	"since": "since_ms", "floor": "floor_ms", "expires": "expires_ms", "mark": "hwm_ms",
}

func (s *store) Edit(_ testing.TB, namespace string, worker int64, field, value string) bool {
	table, where := "slot", fmt.Sprintf("ns = ? AND slot = %d", worker)
	if worker < 0 {
		table, where = "meta", "ns = ?"
	}
	var written any = value
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && field != "pin" && field != "owner" {
		written = n
	}
	var is string // a session that is not strict cuts texts, and makes others a 0
	return s.db.Exec("UPDATE snowlease_"+table+" SET "+columns[field]+" = ? WHERE "+where, written, namespace).Error == nil &&
		s.db.Raw("SELECT "+columns[field]+" FROM snowlease_"+table+" WHERE "+where, namespace).Row().Scan(&is) == nil && is == value
}

// Delete does what docs/operations.md says.
func (s *store) Delete(t testing.TB, namespace string, worker int64) {
	if worker < 0 {
		rawExec(t, s.db, "DELETE FROM snowlease_meta WHERE ns = ?", namespace)
		return
	}
	rawExec(t, s.db, "DELETE FROM snowlease_slot WHERE ns = ? AND slot = ?", namespace, worker)
}

func (s *store) Snapshot(t testing.TB) (restore func()) {
	kept := map[string][]map[string]any{}
	for _, table := range []string{"snowlease_slot", "snowlease_ticket", "snowlease_meta"} {
		var rows []map[string]any
		require.NoError(t, s.db.Table(table).Find(&rows).Error)
		kept[table] = rows
	}
	return func() {
		require.NoError(t, s.db.Transaction(func(tx *gorm.DB) error {
			for table, rows := range kept {
				rawExec(t, tx, "DELETE FROM "+table)
				for _, row := range rows {
					var columns []string
					var values []any
					for column, value := range row {
						columns, values = append(columns, column), append(values, value)
					}
					rawExec(t, tx, fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, strings.Join(columns, ", "), strings.Repeat(", ?", len(values)-1)), values...)
				}
			}
			return nil
		}))
	}
}

// Reincarnate changes the incarnation on record, which has the same effect as another
// server.
func (s *store) Reincarnate(t testing.TB) {
	rawExec(t, s.db, "UPDATE snowlease_meta SET incarnation = ?", fmt.Sprint("other ", s.other.Add(1)))
}

func (s *store) Flip(t testing.TB) {
	rawExec(t, s.db, "UPDATE snowlease_meta SET former = incarnation")
	rawExec(t, s.db, "UPDATE snowlease_meta SET incarnation = ?", fmt.Sprint("other ", s.other.Load()))
}

func TestContract(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			leasetest.Run(t, func(t testing.TB) leasetest.Store { return newStore(t, e) })
		})
	}
}

// transaction adds a transaction setting to a DSN. Its name differs between MySQL and
// MariaDB.
func transaction(t testing.TB, dsn, setting, value string) string {
	t.Helper()
	name := "tx_" + setting // MariaDB before 11.1
	var now string
	if engines[1].db(t, dsn).Raw("SELECT @@transaction_"+setting).Row().Scan(&now) == nil {
		name = "transaction_" + setting
	}
	return "&" + name + "=" + value
}

// readOnly returns dsn for read-only connections.
func (e engine) readOnly(t testing.TB, dsn string) string {
	switch e.speaks {
	case "mysql":
		return dsn + transaction(t, dsn, "read_only", "1")
	case "postgres":
		return dsn + " default_transaction_read_only=on"
	}
	return dsn + "&mode=ro"
}

// errReply is the error of a statement that is made to fail.
var errReply = errors.New("connection lost")

func quarantined(err error) bool {
	var q *lease.QuarantineError
	return errors.As(err, &q)
}

// once runs f before the first statement that begins with prefix.
func once(prefix string, f func()) func(int64, string) error {
	done := false
	return func(_ int64, query string) error {
		if !done && strings.HasPrefix(query, prefix) {
			done = true
			f()
		}
		return nil
	}
}

// second passes on statements that begin with prefix, from the second one on.
func second(prefix string, f func(int64, string) error) func(int64, string) error {
	seen := false
	return func(n int64, query string) error {
		if !strings.HasPrefix(query, prefix) {
			return nil
		}
		if !seen {
			seen = true
			return nil
		}
		return f(n, query)
	}
}

// busy is SQLite's error after a lost race.
type busy struct{}

func (busy) Error() string { return "database is locked" }

func (busy) Code() int { return 5 }

// requireDisjoint requires that no two grants, each as last renewed, share a millisecond
// of a worker id.
func requireDisjoint(t *testing.T, grants ...lease.Grant) {
	t.Helper()
	for i, a := range grants {
		for _, b := range grants[:i] {
			if a.Namespace == b.Namespace && a.Worker == b.Worker {
				require.GreaterOrEqual(t, max(a.Floor, b.Floor), min(a.Ceiling, b.Ceiling),
					"worker %d of %s: (%d, %d] and (%d, %d] overlap", a.Worker, a.Namespace, a.Floor, a.Ceiling, b.Floor, b.Ceiling)
			}
		}
	}
}

// renewSoon repeats a renewal while connections to the former server remain.
func renewSoon(t *testing.T, c lease.Center, g lease.Grant) (renewed lease.Grant) {
	t.Helper()
	require.EventuallyWithT(t, func(ct *assert.CollectT) {
		var err error
		renewed, err = c.Renew(t.Context(), g)
		require.NoError(ct, err)
	}, 20*time.Second, 20*time.Millisecond)
	return renewed
}

// readOnlyAdvice is part of the error of a database that cannot be written to.
func readOnlyAdvice(e engine) string {
	if e.speaks == "sqlite" {
		return "the file or the folder is read-only"
	}
	return "use the DSN of the primary"
}
