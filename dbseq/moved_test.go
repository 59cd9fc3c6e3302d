package dbseq_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A tenancy is a database with another one beside it, to which an application moves the
// connections of a pool that it shares.
type tenancy struct {
	engine       engine
	pool         *sql.DB
	db           *gorm.DB // sees what is at home
	tenant       string
	tenantDB     *gorm.DB
	move, back   string
	tablesOfThem string
}

func onEachTenancy(t *testing.T, f func(t *testing.T, s tenancy)) {
	t.Helper()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks == "sqlite" {
			return // a connection has one main database
		}
		s := tenancy{engine: e, db: e.db(t, dsn)}
		var err error
		s.pool, err = sql.Open(e.driver, dsn)
		require.NoError(t, err)
		t.Cleanup(func() { _ = s.pool.Close() })
		s.tenantDB = e.db(t, dsn)
		tenants, err := s.tenantDB.DB()
		require.NoError(t, err)
		tenants.SetMaxOpenConns(1)
		if e.speaks == "mysql" {
			var home string
			require.NoError(t, s.db.Raw("SELECT DATABASE()").Row().Scan(&home))
			s.tenant = home + "_tenant'7" // a quotation mark must not end the name in a statement
			rawExec(t, s.db, "CREATE DATABASE `"+s.tenant+"`")
			t.Cleanup(func() { s.db.Exec("DROP DATABASE `" + s.tenant + "`") })
			s.move, s.back = "USE `"+s.tenant+"`", "USE `"+home+"`"
			s.tablesOfThem = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ?"
		} else {
			s.tenant = "tenant'7"
			rawExec(t, s.db, `CREATE SCHEMA "tenant'7"`)
			s.move, s.back = `SET search_path = "tenant'7", public`, "SET search_path = public"
			s.tablesOfThem = "SELECT COUNT(*) FROM pg_tables WHERE schemaname = ?"
		}
		rawExec(t, s.tenantDB, s.move)
		f(t, s)
	})
}

// run runs a statement of the application on a connection of the pool.
func (s tenancy) run(t *testing.T, statement string) {
	t.Helper()
	_, err := s.pool.ExecContext(t.Context(), statement)
	require.NoError(t, err)
}

// tables returns how many tables the tenant has.
func (s tenancy) tables(t *testing.T) int64 { return number(t, s.db, s.tablesOfThem, s.tenant) }

func requireMoved(t *testing.T, err error, what string) {
	t.Helper()
	require.ErrorContains(t, err, "a connection of the pool is in ", what)
	require.ErrorContains(t, err, "tenant'7", what)
	require.ErrorContains(t, err, "the first one was in ", what)
	require.ErrorIs(t, err, lease.ErrSetup, what)
	require.NotErrorIs(t, err, lease.ErrLost, what)
	require.NotErrorIs(t, err, lease.ErrUnknown, what)
	require.NotErrorIs(t, err, lease.ErrDamaged, what)
}

// TestMovedConnection: an application moves a connection that it shares to another database or
// schema. No statement reads or writes there, whether it has tables or not.
func TestMovedConnection(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		s.pool.SetMaxOpenConns(1)
		c, err := dbseq.New(s.pool, s.engine.dialect)
		require.NoError(t, err)
		numbers, err := dbseq.NewSegments(s.pool, s.engine.dialect)
		require.NoError(t, err)
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
		require.NoError(t, numbers.Create(t.Context(), "orders", 1))
		g := acquire(t, c, request("orders", 2))
		_, err = c.Extras().Lister.Slots(t.Context(), "unknown")
		require.NoError(t, err)

		reserve := numberstore.Request{Name: "orders", N: 5, Start: 1, Max: 100, Create: true}
		s.run(t, s.move)
		refused := func(when string) {
			for what, do := range map[string]func() error{
				"acquire": func() error { _, err := c.Acquire(t.Context(), request("orders", 2)); return err },
				"renew":   func() error { _, err := c.Renew(t.Context(), g); return err },
				"release": func() error { return c.Release(t.Context(), g, g.Floor) },
				"slots":   func() error { _, err := c.Extras().Lister.Slots(t.Context(), "orders"); return err },
				"record":  func() error { _, err := c.Extras().Operator.Record(t.Context(), "bills"); return err },
				"list":    func() error { _, err := c.Extras().Namespaces(t.Context()); return err },
				"revoke":  func() error { return c.Extras().Operator.Revoke(t.Context(), "orders", g.Worker, g.Token) },
				"retire":  func() error { return c.Extras().Operator.Retire(t.Context(), "orders", "test") },
				"pause": func() error {
					_, err := c.Extras().Operator.Quarantine(t.Context(), "orders", "test")
					return err
				},
				"init":    func() error { return c.Extras().Init(t.Context(), request("bills", 2)) },
				"reserve": func() error { _, err := numbers.Reserve(t.Context(), reserve); return err },
				"given":   func() error { _, err := numbers.Given(t.Context(), "orders"); return err },
				"names": func() error {
					return numbers.Names(t.Context(), "", func(string, int64) error { return nil })
				},
				"create": func() error { return numbers.Create(t.Context(), "bills", 1) },
			} {
				err := do()
				if err == nil {
					t.Errorf("%s %s succeeded", what, when)
					continue
				}
				requireMoved(t, err, what+" "+when)
			}
		}
		if s.engine.speaks == "mysql" { // on PostgreSQL, the path leads to the tables at home too
			refused("without tables")
			require.Zero(t, s.tables(t))
		}

		// The tenant has the tables of another deployment.
		runFile(t, s.tenantDB, s.engine)
		dump := func() []int64 {
			var n []int64
			for _, query := range []string{
				"SELECT COUNT(*) FROM snowlease_slot", "SELECT COUNT(*) FROM snowlease_ticket", "SELECT COUNT(*) FROM snowlease_meta",
				"SELECT COALESCE(SUM(ver + expires_ms + hwm_ms), 0) FROM snowlease_slot",
				"SELECT COUNT(*) FROM snowlease_meta WHERE pin NOT LIKE '%retired%' AND quarantine_ms = 0",
			} {
				n = append(n, number(t, s.tenantDB, query))
			}
			return n
		}
		empty := dump()
		refused("with empty tables")
		require.Equal(t, empty, dump())
		for _, table := range []string{"slot", "ticket", "meta"} {
			rawExec(t, s.tenantDB, "INSERT INTO snowlease_"+table+" SELECT * FROM "+s.atHome(t)+".snowlease_"+table)
		}
		full := dump()
		require.NotEqual(t, empty, full)
		refused("with full tables")
		require.Equal(t, full, dump())

		s.run(t, s.back)
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		got, err := numbers.Reserve(t.Context(), reserve)
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 1, Last: 5}, got)
	})
}

// atHome returns the name of the first database or schema, for a statement.
func (s tenancy) atHome(t *testing.T) (name string) {
	t.Helper()
	if s.engine.speaks == "postgres" {
		return "public"
	}
	require.NoError(t, s.db.Raw("SELECT DATABASE()").Row().Scan(&name))
	return "`" + name + "`"
}

// TestMovedBeforeTheStart: the connections of a pool differ when a center starts, in whatever
// order it gets them. It creates no tables and lends nothing.
func TestMovedBeforeTheStart(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		first(t, center(t, s.db), request("orders", 2))
		s.run(t, s.move) // on the only connection so far
		c, err := dbseq.New(s.pool, s.engine.dialect)
		require.NoError(t, err)
		_, err = c.Acquire(t.Context(), request("orders", 2))
		requireDiffer(t, err)
		numbers, err := dbseq.NewSegments(s.pool, s.engine.dialect)
		require.NoError(t, err)
		requireDiffer(t, numbers.Create(t.Context(), "orders", 1))
		require.Zero(t, s.tables(t))
	})
}

// requireDiffer is requireMoved for a start, which may take either place for the first.
func requireDiffer(t *testing.T, err error) {
	t.Helper()
	require.ErrorContains(t, err, "the first one was in ")
	require.ErrorIs(t, err, lease.ErrSetup)
}

// TestMovedBeforeTheTables: a connection is moved between the first look and the creation of
// the tables.
func TestMovedBeforeTheTables(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		s.pool.SetMaxOpenConns(1)
		c, err := dbseq.New(s.pool, s.engine.dialect)
		require.NoError(t, err)
		_, err = c.Extras().Lister.Slots(t.Context(), "orders")
		require.ErrorContains(t, err, "there is no table")
		s.run(t, s.move)
		_, err = c.Acquire(t.Context(), request("orders", 2))
		requireMoved(t, err, "acquire")
		require.Zero(t, s.tables(t))
		// Another connection than the one that the table was looked for on.
		requireMoved(t, c.CreateOn(t.Context(), "slot"), "create")
		require.Zero(t, s.tables(t))
		if s.engine.speaks == "postgres" { // where a pooler changes the session between two statements
			_, err = s.pool.ExecContext(t.Context(), c.Creation("slot"))
			require.ErrorContains(t, err, "another search_path was set")
			require.Zero(t, s.tables(t))
		}
		s.run(t, s.back)
		first(t, c, request("orders", 2))
		require.Zero(t, s.tables(t))
	})
}

// TestMovedLaterSchema: the tables are in a later schema of the search_path than the first, which
// another path has too.
func TestMovedLaterSchema(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		if s.engine.speaks != "postgres" {
			return // has one database at a time
		}
		s.pool.SetMaxOpenConns(1)
		rawExec(t, s.db, "CREATE SCHEMA app")
		first(t, center(t, s.db), request("orders", 2))
		c, err := dbseq.New(s.pool, s.engine.dialect)
		require.NoError(t, err)
		s.run(t, "SET search_path = app, public")
		g := acquire(t, c, request("orders", 2))
		runFile(t, s.tenantDB, s.engine)
		s.run(t, `SET search_path = app, "tenant'7"`)
		_, err = c.Renew(t.Context(), g)
		requireMoved(t, err, "renew")
		s.run(t, "SET search_path = app, public")
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
	})
}

// TestSchemaOfTheAccount: somebody creates a schema with the name of the account, which then comes
// before that of the tables. A process that runs follows it with no statement.
func TestSchemaOfTheAccount(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks != "postgres" {
			return // has one database at a time
		}
		c, err := dbseq.Open(e.driver, dsn)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		numbers, err := dbseq.OpenSegments(e.driver, dsn)
		require.NoError(t, err)
		t.Cleanup(func() { _ = numbers.Close() })
		g := first(t, c, request("orders", 2))
		reserve := numberstore.Request{Name: "orders", N: 5, Start: 1, Max: 100, Create: true}
		_, err = numbers.Reserve(t.Context(), reserve)
		require.NoError(t, err)

		db := e.db(t, dsn)
		var account string
		require.NoError(t, db.Raw("SELECT quote_ident(current_user)").Row().Scan(&account))
		rawExec(t, db, "CREATE SCHEMA "+account)
		runFile(t, db, e)
		runSegmentFile(t, db, e)
		for what, do := range map[string]func() error{
			"acquire": func() error { _, err := c.Acquire(t.Context(), request("orders", 2)); return err },
			"renew":   func() error { _, err := c.Renew(t.Context(), g); return err },
			"reserve": func() error { _, err := numbers.Reserve(t.Context(), reserve); return err },
			"create":  func() error { return numbers.Create(t.Context(), "bills", 1) },
		} {
			err := do()
			require.ErrorIs(t, err, lease.ErrSetup, what)
			require.ErrorContains(t, err, "ALTER ROLE", what)
			require.NotErrorIs(t, err, lease.ErrLost, what)
		}
		rawExec(t, db, "DROP SCHEMA "+account+" CASCADE")
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		got, err := numbers.Reserve(t.Context(), reserve)
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 6, Last: 10}, got)
	})
}

// TestMovedKeeper: a running keeper loses nothing while a connection is moved, and learns of no
// other worker id. It goes on when the connection is back.
func TestMovedKeeper(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		s.pool.SetMaxOpenConns(1)
		c, err := dbseq.New(s.pool, s.engine.dialect)
		require.NoError(t, err)
		layout := snowflake.Layout{WorkerBits: 2}
		req := keeper.NewRequest("orders", layout)
		req.TTL, req.MaxTTL, req.Skew = 6*time.Second, 6*time.Second, 100*time.Millisecond
		k, err := keeper.Open(t.Context(), keeper.Config{Center: c, Request: req, Layout: layout})
		require.NoError(t, err)
		defer func() { require.NoError(t, k.Stop(context.WithoutCancel(t.Context()))) }()
		worker := k.Status().Grant.Worker

		s.run(t, s.move)
		require.EventuallyWithT(t, func(ct *assert.CollectT) {
			require.ErrorContains(ct, k.Status().Err, "the first one was in ")
		}, time.Minute, 20*time.Millisecond)
		require.ErrorIs(t, k.Status().Err, lease.ErrSetup)
		require.Zero(t, s.tables(t))
		s.run(t, s.back)
		require.EventuallyWithT(t, func(ct *assert.CollectT) {
			_, err := k.NextID()
			require.NoError(ct, err)
			require.NoError(ct, k.Status().Err)
		}, time.Minute, 20*time.Millisecond)
		require.Equal(t, worker, k.Status().Grant.Worker)
	})
}
