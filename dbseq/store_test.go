package dbseq_test

import (
	"flag"
	"fmt"
	"path/filepath"
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

// An engine opens databases of one kind.
type engine struct {
	name, dialect string
	// dsn returns the DSN of a new database.
	dsn  func(t testing.TB) string
	open func(dsn string) gorm.Dialector
}

var engines = []engine{
	{"sqlite", "sqlite", func(t testing.TB) string {
		return "file:" + filepath.Join(t.TempDir(), "app.db") + "?_txlock=immediate&_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)"
	}, libsqlite.Open},
	{"mariadb", "mysql", testserver.MariaDB, mysql.Open},
	{"postgres", "postgres", testserver.Postgres, postgres.Open},
	{"mysql", "mysql", testserver.MySQL, mysql.Open},
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
	db, err := gorm.Open(e.open(dsn), &gorm.Config{Logger: logger.Discard})
	require.NoError(t, err)
	pool, err := db.DB()
	require.NoError(t, err)
	t.Cleanup(func() { _ = pool.Close() })
	return db
}

// place returns the driver and the DSN of db.
func place(db *gorm.DB) (driver, dsn string) {
	switch d := db.Dialector.(type) {
	case *mysql.Dialector:
		return "mysql", d.DSN
	case *postgres.Dialector:
		return "pgx", d.DSN
	}
	return "sqlite", db.Dialector.(*libsqlite.Dialector).DSN
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
	require.NoError(t, c.Init(t.Context(), req))
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

// TestContractNever runs on one engine, because the statements differ little.
func TestContractNever(t *testing.T) {
	t.Parallel()
	leasetest.Run(t, func(t testing.TB) leasetest.Store {
		return newStore(t, engines[1], dbseq.WithQuarantine(lease.QuarantineNever))
	})
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
	switch e.dialect {
	case "mysql":
		return dsn + transaction(t, dsn, "read_only", "1")
	case "postgres":
		return dsn + " default_transaction_read_only=on"
	}
	return dsn + "&mode=ro"
}

// TestContractOddSessions runs the contract under unusual session settings.
func TestContractOddSessions(t *testing.T) {
	with := func(e engine, settings func(t testing.TB) string) engine {
		dsn := e.dsn
		e.dsn = func(t testing.TB) string { return dsn(t) + settings(t) }
		return e
	}
	isolation := func(t testing.TB, level string) string {
		return transaction(t, testserver.MariaDB(t), "isolation", "'"+level+"'")
	}
	for name, e := range map[string]engine{
		"mysql serializable, ansi, +09:00, increment 2": with(engines[1], func(t testing.TB) string {
			return isolation(t, "SERIALIZABLE") + "&sql_mode='ANSI,TRADITIONAL'&time_zone='%2B09:00'&auto_increment_increment=2"
		}),
		"mysql read committed, prepared, found rows": with(engines[1], func(t testing.TB) string {
			return isolation(t, "READ-COMMITTED") + "&interpolateParams=false&clientFoundRows=true"
		}),
		"postgres serializable, Tokyo": with(engines[2], func(testing.TB) string {
			return " default_transaction_isolation=serializable TimeZone=Asia/Tokyo"
		}),
		"postgres repeatable read, simple": with(engines[2], func(testing.TB) string {
			return " default_transaction_isolation='repeatable read' default_query_exec_mode=simple_protocol"
		}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leasetest.Run(t, func(t testing.TB) leasetest.Store { return newStore(t, e) })
		})
	}
	t.Run("mysql simultaneous assignment", func(t *testing.T) {
		t.Parallel()
		db := engines[1].db(t, testserver.MariaDB(t))
		if db.Exec("SET sql_mode = 'SIMULTANEOUS_ASSIGNMENT'").Error != nil {
			t.Log("left out: only MariaDB has this mode")
			return
		}
		e := with(engines[1], func(testing.TB) string { return "&sql_mode='SIMULTANEOUS_ASSIGNMENT'" })
		leasetest.Run(t, func(t testing.TB) leasetest.Store { return newStore(t, e) })
	})
}
