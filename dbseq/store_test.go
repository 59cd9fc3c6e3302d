package dbseq_test

import (
	"cmp"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"slices"
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
	tested := map[dbseq.Dialect]bool{}
	for _, e := range engines {
		require.Equal(t, e.dialect == dbseq.SQLite, e.start == nil, "%s: tests cannot start a server", e.name)
		require.Contains(t, []string{"mysql", "postgres", "sqlite"}, e.speaks, "tests that look at speaks lack a branch")
		tested[e.dialect] = true
	}
	files, err := filepath.Glob("schema/*.sql")
	require.NoError(t, err)
	require.Len(t, tested, len(files), "a dialect has no engine")
}

// onEach runs f for each engine, each time on a new database.
func onEach(t *testing.T, f func(t *testing.T, e engine, dsn string)) {
	t.Helper()
	onThose(t, "sqlite mysql postgres", f)
}

// onEachCenter runs f for each engine, each time with a center on a new database.
func onEachCenter(t *testing.T, f func(t *testing.T, e engine, db *gorm.DB, c *dbseq.Center)) {
	t.Helper()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		f(t, e, db, center(t, db))
	})
}

// onThose does so for the engines that speak one of these.
func onThose(t *testing.T, speak string, f func(t *testing.T, e engine, dsn string)) {
	t.Helper()
	for _, e := range engines {
		if !strings.Contains(speak, e.speaks) {
			continue
		}
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
	pool.SetMaxIdleConns(8) // a PostgreSQL forks for each connection
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
	req.TTL, req.Skew, req.MaxLead = req.MaxTTL/2, 0, req.MaxTTL
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

// A store is the tables of a prefix in a database, with the faults of leasetest. If it is shifted, its
// clock is that of the server, to which Sleep adds, so that nobody waits for a lease to end.
type store struct {
	db       *gorm.DB
	through  *gorm.DB // what centers connect to in place of db
	prefix   string
	opts     []dbseq.Option
	compared bool
	shifted  bool
	other    atomic.Int64
}

// newStore is a store of the tables that a center has by default.
func newStore(db *gorm.DB) *store { return &store{db: db, prefix: "snowlease_", compared: true} }

// stores returns a function that makes shifted stores in a database, on SQLite one in each.
func stores(t testing.TB, e engine, opts ...dbseq.Option) func(testing.TB) leasetest.Store {
	var (
		db = e.db(t, e.dsn(t))
		n  atomic.Int64
	)
	return func(t testing.TB) leasetest.Store {
		s := &store{db: db, prefix: fmt.Sprintf("s%d_", n.Add(1)), compared: len(opts) == 0, shifted: true}
		s.opts = append(slices.Clone(opts), dbseq.WithTablePrefix(s.prefix))
		if e.start == nil { // one file is locked by one writer
			s.db = e.db(t, e.dsn(t))
		}
		s.host(t, 0)
		return s
	}
}

// host creates the table that Sleep changes. A lock of it lasts for a statement.
func (s *store) host(t testing.TB, ms int64) {
	table := "CREATE TABLE snowlease_host (ms BIGINT PRIMARY KEY, number INTEGER NOT NULL)"
	if s.db.Name() == "mysql" {
		table += " ENGINE=MEMORY"
	}
	s.exec(t, table)
	s.exec(t, "INSERT INTO snowlease_host VALUES (?, 1)", ms)
}

// in is a statement for the tables of the store.
func (s *store) in(query string) string { return strings.ReplaceAll(query, "snowlease_", s.prefix) }

// exec runs a statement in a read committed transaction on PostgreSQL: in a serializable session, those
// of other tests could get in its way.
func (s *store) exec(t testing.TB, query string, values ...any) {
	t.Helper()
	if s.db.Name() != "postgres" {
		rawExec(t, s.db, s.in(query), values...)
		return
	}
	committed := &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	require.NoError(t, s.db.Transaction(func(tx *gorm.DB) error { return tx.Exec(s.in(query), values...).Error }, committed))
}

func (s *store) Center(t testing.TB) lease.Center {
	return s.shift(center(t, cmp.Or(s.through, s.db), s.opts...))
}

// shift lets a center of a shifted store read its clock.
func (s *store) shift(c *dbseq.Center) *dbseq.Center {
	if s.shifted {
		c.ReadFrom(s.in("(({clock}) + (SELECT ms FROM snowlease_host))"), "")
	}
	return c
}

func (s *store) Sleep(d time.Duration) {
	for range 100 { // in serializable sessions, others get in the way
		if s.db.Exec(s.in("UPDATE snowlease_host SET ms = ms + ?"), d.Milliseconds()).Error == nil {
			return
		}
	}
	panic("the clock is stuck")
}

func (s *store) Traits() leasetest.Traits {
	return leasetest.Traits{Incarnation: s.compared, RenewsAlone: true}
}

func (s *store) Wipe(t testing.TB) {
	for _, table := range []string{"slot", "ticket", "meta"} {
		s.exec(t, "DELETE FROM snowlease_"+table)
	}
}

func (s *store) Drop(t testing.TB, namespace string, what leasetest.Records) {
	s.exec(t, map[leasetest.Records]string{
		leasetest.OneSlot: "DELETE FROM snowlease_slot WHERE ns = ? AND slot = 0",
		leasetest.OneMark: "DELETE FROM snowlease_slot WHERE ns = ? AND slot = 0",
		leasetest.Owners:  "UPDATE snowlease_slot SET owner = '', holder = '', since_ms = 0, ver = ver + 1 WHERE ns = ?",
		leasetest.Meta:    "DELETE FROM snowlease_meta WHERE ns = ?",
	}[what], namespace)
}

// columns are those that have what leasetest edits.
var columns = map[string]string{
	"pin": "pin", "quarantine": "quarantine_ms", "owner": "owner", "token": "token",
	"since": "since_ms", "floor": "floor_ms", "expires": "expires_ms", "mark": "hwm_ms",
}

func (s *store) Edit(_ testing.TB, namespace string, worker int64, field, value string) bool {
	from := s.in(fmt.Sprintf("snowlease_slot WHERE ns = ? AND slot = %d", worker))
	if worker < 0 {
		from = s.in("snowlease_meta WHERE ns = ?")
	}
	var written any = value
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && field != "pin" && field != "owner" {
		written = n
	}
	var is string // a session that is not strict cuts texts, and makes others a 0
	return s.db.Exec("UPDATE "+strings.Replace(from, " ", " SET "+columns[field]+" = ? ", 1), written, namespace).Error == nil &&
		s.db.Raw("SELECT "+columns[field]+" FROM "+from, namespace).Row().Scan(&is) == nil && is == value
}

// Delete does what docs/operations.md says.
func (s *store) Delete(t testing.TB, namespace string, worker int64) {
	if worker < 0 {
		s.exec(t, "DELETE FROM snowlease_meta WHERE ns = ?", namespace)
		return
	}
	s.exec(t, "DELETE FROM snowlease_slot WHERE ns = ? AND slot = ?", namespace, worker)
}

func (s *store) Snapshot(t testing.TB) (restore func()) {
	kept := map[string][]map[string]any{}
	for _, table := range []string{"slot", "ticket", "meta"} {
		var rows []map[string]any
		require.NoError(t, s.db.Table(s.prefix+table).Find(&rows).Error)
		kept[s.prefix+table] = rows
	}
	return func() {
		require.NoError(t, s.db.Transaction(func(tx *gorm.DB) error {
			for table, rows := range kept {
				rawExec(t, tx, "DELETE FROM "+table)
				if len(rows) > 0 {
					require.NoError(t, tx.Table(table).Create(rows).Error)
				}
			}
			return nil
		}))
	}
}

// Reincarnate changes the incarnation on record, which has the same effect as another
// server.
func (s *store) Reincarnate(t testing.TB) {
	s.exec(t, "UPDATE snowlease_meta SET incarnation = ?", fmt.Sprint("other ", s.other.Add(1)))
}

func (s *store) Flip(t testing.TB) {
	s.exec(t, "UPDATE snowlease_meta SET former = incarnation")
	s.exec(t, "UPDATE snowlease_meta SET incarnation = ?", fmt.Sprint("other ", s.other.Load()))
}

// Engines follow one another: the promises of each run in parallel.
func TestContract(t *testing.T)         { contract(t, engines[0]) }
func TestContractMariaDB(t *testing.T)  { contract(t, engines[1]) }
func TestContractPostgres(t *testing.T) { contract(t, engines[2]) }
func TestContractMySQL(t *testing.T)    { contract(t, engines[3]) }

func contract(t *testing.T, e engine) {
	t.Run(e.name, func(t *testing.T) { leasetest.Run(t, stores(t, e)) })
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
	ran := false
	return func(_ int64, query string) error {
		if !ran && strings.HasPrefix(query, prefix) {
			ran = true
			f()
		}
		return nil
	}
}

// failing makes each statement fail that contains part.
func failing(part string, err error) func(int64, string) error {
	return func(_ int64, query string) error {
		if strings.Contains(query, part) {
			return err
		}
		return nil
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
