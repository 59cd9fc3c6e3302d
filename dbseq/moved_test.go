package dbseq_test

import (
	"database/sql"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/lease"
)

// A tenancy is a database with another one beside it, to which an application moves the
// connections of a pool that it shares.
type tenancy struct {
	engine   engine
	pool     *sql.DB
	db       *gorm.DB // sees what is at home
	tenantDB *gorm.DB
	move     string
}

func onEachTenancy(t *testing.T, f func(t *testing.T, s tenancy)) {
	t.Helper()
	onThose(t, "mysql postgres", func(t *testing.T, e engine, dsn string) {
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
			tenant := s.db.Migrator().CurrentDatabase() + "_tenant'7" // a quotation mark must not end the name in a statement
			rawExec(t, s.db, "CREATE DATABASE `"+tenant+"`")
			t.Cleanup(func() { s.db.Exec("DROP DATABASE `" + tenant + "`") })
			s.move = "USE `" + tenant + "`"
		} else {
			rawExec(t, s.db, `CREATE SCHEMA "tenant'7"`)
			s.move = `SET search_path = "tenant'7", public`
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

// TestMovedConnection: an application moves a connection that it shares to another database or
// schema, which has the tables of another deployment. From the first look on, every statement reaches
// the tables at home, and none of those that are there.
func TestMovedConnection(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		s.pool.SetMaxOpenConns(1)
		c, err := dbseq.New(s.pool, s.engine.dialect)
		require.NoError(t, err)
		numbers := c.Numbers().(*sqlnumbers.Store)
		_, err = c.Extras().Lister.Slots(t.Context(), "orders")
		require.ErrorContains(t, err, "there is no table")
		_, err = numbers.HighWater(t.Context(), "shop/orders")
		require.ErrorIs(t, err, numberstore.ErrUnknown)
		late, err := dbseq.New(s.pool, s.engine.dialect, dbseq.WithTablePrefix("late_"))
		require.NoError(t, err)
		require.NoError(t, late.Extras().Init(t.Context(), request("orders", 2)))
		s.run(t, s.move)
		require.NoError(t, late.Numbers().(*sqlnumbers.Store).Create(t.Context(), "shop/orders", 1))
		require.EqualValues(t, 1, number(t, s.db, "SELECT COUNT(*) FROM late_segment"), "where the leases are")
		runFile(t, s.tenantDB, s.engine)
		runSegmentFile(t, s.tenantDB, s.engine)

		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
		g := acquire(t, c, request("orders", 2))
		g, err = c.Renew(t.Context(), g)
		require.NoError(t, err)
		require.Equal(t, g.Ceiling, number(t, s.db, "SELECT MAX(hwm_ms) FROM snowlease_slot WHERE ns = 'orders'"))
		other := acquire(t, center(t, s.db), request("orders", 2))
		require.NotEqual(t, g.Worker, other.Worker)
		slots, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.NoError(t, err)
		require.Len(t, slots, 2)
		require.NoError(t, c.Release(t.Context(), other, other.Floor))
		operator := c.Extras().Operator
		require.NoError(t, operator.Retire(t.Context(), "orders", "test"))
		r, err := operator.Record(t.Context(), "orders")
		require.NoError(t, err)
		require.True(t, r.Pin.Retired)
		findings, err := c.Extras().Examine(t.Context(), "orders")
		require.NoError(t, err)
		for _, f := range findings {
			require.False(t, f.Level == lease.LevelFault && (f.Check == "rights" || f.Check == "engine"), f)
		}

		for _, want := range []int64{1, 6} {
			got, err := numbers.Reserve(t.Context(), numberstore.Request{Name: "shop/orders", N: 5, Start: 1, Max: 100, Create: true})
			require.NoError(t, err)
			require.Equal(t, numberstore.Range{First: want, Last: want + 4}, got)
		}
		require.NoError(t, numbers.Create(t.Context(), "shop/bills", 1))
		var listed []string
		require.NoError(t, numbers.Names(t.Context(), "", func(name string, _ int64) error { listed = append(listed, name); return nil }))
		require.Equal(t, []string{"shop/bills", "shop/orders"}, listed)
		require.EqualValues(t, 10, number(t, s.db, "SELECT max_id FROM snowlease_segment WHERE name = 'shop/orders'"))
		for _, table := range []string{"slot", "ticket", "meta", "segment"} {
			require.Zero(t, number(t, s.tenantDB, "SELECT COUNT(*) FROM snowlease_"+table), table)
		}
	})
}

// TestMovedInATransaction: a gapless number is that of the tables at home wherever the transaction
// of the application is, of the pool of the store or of another one.
func TestMovedInATransaction(t *testing.T) {
	onEachTenancy(t, func(t *testing.T, s tenancy) {
		runSegmentFile(t, s.tenantDB, s.engine)
		shared := segmentsOn(t, s.pool, s.engine.dialect)
		early := reserve(1)
		early.Create = false
		require.NoError(t, within(t, s.pool, func(tx *sql.Tx) error {
			_, err := shared.In(tx).Reserve(t.Context(), early)
			require.ErrorContains(t, err, "has not answered yet")
			_, err = shared.In(tx).HighWater(t.Context(), "shop/orders")
			require.ErrorContains(t, err, "has not answered yet")
			return nil
		}))
		require.NoError(t, shared.Create(t.Context(), "shop/orders", 1))
		last := int64(0)
		for _, store := range []*sqlnumbers.Store{shared, segments(t, s.db)} {
			_, err := store.HighWater(t.Context(), "shop/orders") // the first look
			require.NoError(t, err)
			for _, commit := range []bool{true, false} {
				tx, err := s.pool.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				_, err = tx.ExecContext(t.Context(), s.move)
				require.NoError(t, err)
				got, err := store.In(tx).Reserve(t.Context(), reserve(1))
				require.NoError(t, err)
				require.Equal(t, numberstore.Range{First: last + 1, Last: last + 1}, got)
				if commit {
					last++
					require.NoError(t, tx.Commit())
				} else {
					require.NoError(t, tx.Rollback())
				}
			}
		}
		require.Equal(t, last, number(t, s.db, "SELECT max_id FROM snowlease_segment"))
		require.Zero(t, number(t, s.tenantDB, "SELECT COUNT(*) FROM snowlease_segment"))
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
// before that of the tables. The process that created them follows with no statement until they are
// moved, and then as one that starts does.
func TestSchemaOfTheAccount(t *testing.T) {
	onThose(t, "postgres", func(t *testing.T, e engine, dsn string) {
		c, err := dbseq.Open(e.driver, dsn)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		g, db := first(t, c, request("orders", 2)), e.db(t, dsn)
		last := int64(0)
		goesOn := func() {
			g, err = c.Renew(t.Context(), g)
			require.NoError(t, err)
			_, err = c.Acquire(t.Context(), request("orders", 2))
			require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
			got, err := c.Numbers().Reserve(t.Context(), reserve(1))
			require.NoError(t, err)
			last++
			require.Equal(t, last, got.First)
		}
		acquire(t, c, request("orders", 2))
		goesOn()
		var account, database string
		require.NoError(t, db.Raw("SELECT quote_ident(current_user), quote_ident(current_database())").Row().Scan(&account, &database))
		rawExec(t, db, "CREATE SCHEMA "+account)
		_, err = center(t, db).Acquire(t.Context(), request("orders", 2))
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError), "a process that starts finds the tables as well")
		path := e.db(t, dsn+" search_path="+account)
		runFile(t, path, e)
		runSegmentFile(t, path, e)
		goesOn()
		for _, table := range []string{".snowlease_slot", ".snowlease_ticket", ".snowlease_meta", ".snowlease_segment"} {
			rawExec(t, db, "DROP TABLE "+account+table)
			rawExec(t, db, "ALTER TABLE public"+table+" SET SCHEMA "+account)
		}
		goesOn()
		rawExec(t, db, "ALTER SCHEMA "+account+" RENAME TO app")
		rawExec(t, db, "ALTER DATABASE "+database+" SET search_path = app")
		goesOn()
		require.Zero(t, number(t, db, "SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'"))
	})
}

// TestNumbersApartFromTheLeases: the table of numbers is in a later schema of the search_path than
// those of the leases. Another one beside them would count anew.
func TestNumbersApartFromTheLeases(t *testing.T) {
	onThose(t, "postgres", func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		runSegmentFile(t, db, e)
		rawExec(t, db, "CREATE SCHEMA app")
		c, err := dbseq.Open(e.driver, dsn+" search_path=app,public")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
		_, err = c.Numbers().Reserve(t.Context(), reserve(1))
		require.NoError(t, err)
		require.EqualValues(t, 1, number(t, db, "SELECT max_id FROM public.snowlease_segment"))
	})
}
