package dbseq_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
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

// TestMovedConnection: an application moves a connection that it shares to another database or
// schema. Every statement reaches the tables at home, and none of those that are there.
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
		s.run(t, s.move)

		first := int64(1)
		works := func(bills string) {
			require.NoError(t, c.Extras().Init(t.Context(), request(bills, 1)))
			var err error
			g, err = c.Renew(t.Context(), g)
			require.NoError(t, err)
			require.Equal(t, g.Ceiling, number(t, s.db, "SELECT MAX(hwm_ms) FROM snowlease_slot WHERE ns = 'orders'"))
			other := acquire(t, c, request("orders", 2))
			require.NotEqual(t, g.Worker, other.Worker)
			slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
			require.NoError(t, err)
			require.Len(t, slots, 2)
			require.NoError(t, c.Release(t.Context(), other, other.Floor))
			operator := c.Extras().Operator
			require.NoError(t, operator.Retire(t.Context(), bills, "test"))
			r, err := operator.Record(t.Context(), bills)
			require.NoError(t, err)
			require.True(t, r.Pin.Retired)
			require.EqualValues(t, 1, number(t, s.db, "SELECT COUNT(*) FROM snowlease_meta WHERE ns = ? AND pin LIKE '%retired%'", bills))
			findings, err := c.Extras().Examine(t.Context(), "orders")
			require.NoError(t, err)
			for _, f := range findings {
				require.NotContains(t, []string{"rights", "engine"}, map[bool]string{true: f.Check}[f.Level == lease.LevelFault], f)
			}

			got, err := numbers.Reserve(t.Context(), numberstore.Request{Name: "orders", N: 5, Start: 1, Max: 100, Create: true})
			require.NoError(t, err)
			require.Equal(t, numberstore.Range{First: first, Last: first + 4}, got)
			first += 5
			require.NoError(t, numbers.Create(t.Context(), bills, 1))
			var listed []string
			require.NoError(t, numbers.Names(t.Context(), "", func(name string, _ int64) error { listed = append(listed, name); return nil }))
			require.Contains(t, listed, bills)
		}
		works("bills-1")
		require.Zero(t, s.tables(t))

		// The tenant has the tables of another deployment.
		runFile(t, s.tenantDB, s.engine)
		runSegmentFile(t, s.tenantDB, s.engine)
		s.pool.SetMaxIdleConns(0) // prepared statements keep to the tables that they have found
		s.pool.SetMaxIdleConns(1)
		s.run(t, s.move)
		works("bills-2")
		for _, table := range []string{"slot", "ticket", "meta", "segment"} {
			require.Zero(t, number(t, s.tenantDB, "SELECT COUNT(*) FROM snowlease_"+table))
		}
		for _, table := range []string{"slot", "meta", "segment"} {
			rawExec(t, s.tenantDB, "INSERT INTO snowlease_"+table+" SELECT * FROM "+s.atHome(t)+".snowlease_"+table)
		}
		dump := func() (n []int64) {
			for _, query := range []string{
				"SELECT COUNT(*) FROM snowlease_slot", "SELECT COUNT(*) FROM snowlease_ticket", "SELECT COUNT(*) FROM snowlease_meta",
				"SELECT SUM(ver + expires_ms + hwm_ms) FROM snowlease_slot", "SELECT SUM(max_id) FROM snowlease_segment",
			} {
				n = append(n, number(t, s.tenantDB, query))
			}
			return n
		}
		before := dump()
		works("bills-3")
		require.Equal(t, before, dump())
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

// TestMovedBeforeTheTables: a connection is moved between the first look and the creation of
// the tables, which are created where that look was.
func TestMovedBeforeTheTables(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		s.pool.SetMaxOpenConns(1)
		c, err := dbseq.New(s.pool, s.engine.dialect)
		require.NoError(t, err)
		_, err = c.Extras().Lister.Slots(t.Context(), "orders")
		require.ErrorContains(t, err, "there is no table")
		s.run(t, s.move)
		g := first(t, c, request("orders", 2))
		require.Zero(t, s.tables(t))
		_, err = center(t, s.db).Renew(t.Context(), g)
		require.NoError(t, err)
	})
}

// TestMovedInATransaction: a gapless number is that of the tables at home wherever the transaction
// of the application is.
func TestMovedInATransaction(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		numbers, err := dbseq.NewSegments(s.pool, s.engine.dialect)
		require.NoError(t, err)
		require.NoError(t, numbers.Create(t.Context(), "orders", 1))
		tx, err := s.pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), s.move)
		require.NoError(t, err)
		got, err := numbers.In(tx).Reserve(t.Context(), numberstore.Request{Name: "orders", N: 1, Start: 1, Max: 100, Create: true})
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 1, Last: 1}, got)
		require.NoError(t, tx.Commit())
		require.EqualValues(t, 1, number(t, s.db, "SELECT max_id FROM snowlease_segment"))
		require.Zero(t, s.tables(t))

		early, err := dbseq.NewSegments(s.pool, s.engine.dialect)
		require.NoError(t, err)
		tx, err = s.pool.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback()) }()
		_, err = early.In(tx).Reserve(t.Context(), numberstore.Request{Name: "orders", N: 1, Start: 1, Max: 100})
		require.ErrorContains(t, err, "has not answered yet")
		_, err = early.In(tx).Given(t.Context(), "orders")
		require.ErrorContains(t, err, "has not answered yet")
	})
}

// TestMovedLaterSchema: the tables are in a later schema of the search_path than the first, which
// another path has too. When they are dropped, a running process creates none where its connection
// leads by then, which may be to another tenant.
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
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err)

		s.run(t, "SET search_path = app, public")
		rawExec(t, s.db, "DROP TABLE snowlease_slot, snowlease_ticket, snowlease_meta")
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrSetup)
		require.ErrorContains(t, err, `the tables in schema "public" are gone, and the search_path leads to "app" now: restart the process`)
		require.Zero(t, number(t, s.db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname IN ('public', 'app') AND tablename LIKE 'snowlease%'"))
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
		// A process that starts finds the tables as well.
		other := acquire(t, center(t, db), request("orders", 2))
		require.NotEqual(t, g.Worker, other.Worker)
		rawExec(t, db, "SET search_path = "+account)
		runFile(t, db, e)
		runSegmentFile(t, db, e)
		_, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		_, err = c.Acquire(t.Context(), request("orders", 2))
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
		got, err := numbers.Reserve(t.Context(), reserve)
		require.NoError(t, err)
		require.Equal(t, numberstore.Range{First: 6, Last: 10}, got)
	})
}
