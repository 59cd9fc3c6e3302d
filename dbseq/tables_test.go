package dbseq_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// TestLargePool: all slots of a pool are created, and the last one can be lent.
func TestLargePool(t *testing.T) {
	onEachCenter(t, func(t *testing.T, e engine, db *gorm.DB, c *dbseq.Center) {
		pool := int64(1025)
		if e.speaks == "mysql" { // fill counts with five hexadecimal digits
			pool = 0x10001
		}
		req := request("orders", pool)
		require.NoError(t, c.Extras().Init(t.Context(), req))
		require.Equal(t, pool, number(t, db, "SELECT COUNT(*) FROM snowlease_slot"))
		require.Equal(t, pool-1, number(t, db, "SELECT MAX(slot) FROM snowlease_slot"))
		req.First = req.Last
		require.Equal(t, pool-1, acquire(t, c, req).Worker)
	})
}

// TestTablesByHand: the files of schema create the same tables as the code, and the errors
// name them.
func TestTablesByHand(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		byCode, byHand := e.db(t, dsn), e.db(t, e.dsn(t))
		first(t, center(t, byCode), request("orders", 4))
		require.NoError(t, segments(t, byCode).Create(t.Context(), "shop/orders", 1))

		c, numbers := center(t, byHand, dbseq.WithoutMigrate()), segments(t, byHand, dbseq.WithoutMigrate())
		for name, call := range map[string]func() error{
			"dbseq/schema/":               func() error { _, err := c.Acquire(t.Context(), request("orders", 4)); return err },
			"internal/sqlnumbers/schema/": func() error { _, err := numbers.Reserve(t.Context(), reserve(1)); return err },
		} {
			err := call()
			require.ErrorContains(t, err, name+string(e.dialect)+".sql")
			require.ErrorIs(t, err, lease.ErrSetup)
		}
		runFile(t, byHand, e)
		runSegmentFile(t, byHand, e)
		require.Equal(t, describe(t, e, byCode), describe(t, e, byHand))

		_, err := c.Acquire(t.Context(), request("orders", 4))
		require.ErrorAs(t, err, new(*lease.QuarantineError), "nobody knows that these tables are new")
		first(t, c, request("known-to-be-new", 4))
		_, err = numbers.Reserve(t.Context(), reserve(1))
		require.NoError(t, err)
	})
}

// runFile runs the DDL file as an administrator does.
func runFile(t testing.TB, db *gorm.DB, e engine) { runSchema(t, db, e, "schema/") }

func runSegmentFile(t testing.TB, db *gorm.DB, e engine) {
	runSchema(t, db, e, "../internal/sqlnumbers/schema/")
}

func runSchema(t testing.TB, db *gorm.DB, e engine, folder string) {
	t.Helper()
	text, err := os.ReadFile(folder + string(e.dialect) + ".sql")
	require.NoError(t, err)
	for _, ddl := range strings.SplitAfter(string(text), ";\n") {
		if strings.TrimSpace(ddl) != "" {
			rawExec(t, db, ddl)
		}
	}
}

// describe returns the definition of the tables.
func describe(t testing.TB, e engine, db *gorm.DB) (found []map[string]any) {
	t.Helper()
	query := map[string]string{
		"sqlite": "SELECT name FROM sqlite_master UNION ALL SELECT c.name || c.type || c.pk || c.\"notnull\" FROM sqlite_master AS m, pragma_table_info(m.name) AS c ORDER BY 1",
		"mysql": `SELECT table_name, column_name, column_type, collation_name, column_key, is_nullable, extra
			FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, 2`,
		"postgres": `SELECT table_name, column_name, data_type, character_maximum_length, collation_name, is_nullable, is_identity
			FROM information_schema.columns WHERE table_schema = current_schema()
			UNION ALL SELECT indexname, indexdef, '', 0, '', '', '' FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1, 2`,
	}[e.speaks]
	require.NoError(t, db.Raw(query).Scan(&found).Error)
	require.NotEmpty(t, found)
	return found
}

// TestAccountWithoutCreate: the errors name the files to run and the rights to grant. Afterwards all
// works.
func TestAccountWithoutCreate(t *testing.T) {
	onAccounts(t, "mysql postgres", func(t *testing.T, a *account) {
		if a.e.speaks == "mysql" {
			a.admin("GRANT SELECT ON " + a.database + ".* TO " + a.name)
		}
		c, numbers := a.open(a.right()), segments(t, a.e.db(t, a.right()))
		fail := func(want, ofNumbers string) {
			_, err := c.Acquire(t.Context(), request("orders", 4))
			require.ErrorContains(t, err, want)
			require.ErrorIs(t, err, lease.ErrSetup)
			_, err = numbers.Reserve(t.Context(), reserve(1))
			require.ErrorContains(t, err, ofNumbers)
			require.ErrorIs(t, err, lease.ErrSetup)
		}
		file := string(a.e.dialect) + ".sql"
		fail("dbseq/schema/"+file, "internal/sqlnumbers/schema/"+file)
		runFile(t, a.db, a.e)
		runSegmentFile(t, a.db, a.e)
		if a.e.speaks == "postgres" { // MySQL hides tables from accounts without rights on them
			fail("grant the account SELECT, INSERT and UPDATE on the tables snowlease_slot and snowlease_meta, and SELECT, INSERT and DELETE on snowlease_ticket",
				"grant the account SELECT, INSERT and UPDATE on the table snowlease_segment")
		}
		for _, table := range []string{"slot", "ticket", "meta", "segment"} {
			a.admin("GRANT SELECT, INSERT, UPDATE, DELETE ON snowlease_" + table + " TO " + a.name)
		}
		first(t, c, request("orders", 4))
		_, err := numbers.Reserve(t.Context(), reserve(1))
		require.NoError(t, err)
	})
}

// TestNoDatabaseInTheDSN: the start fails at once, and says where the name belongs.
func TestNoDatabaseInTheDSN(t *testing.T) {
	t.Parallel()
	onThose(t, "mysql", func(t *testing.T, e engine, dsn string) { // PostgreSQL takes the name of the account
		slash, query := strings.LastIndex(dsn, "/"), strings.LastIndex(dsn, "?")
		c := center(t, e.db(t, dsn[:slash+1]+dsn[query:]))
		_, err := c.Acquire(t.Context(), request("orders", 4))
		require.ErrorIs(t, err, lease.ErrSetup)
		require.ErrorContains(t, err, "name the database in the DSN")
	})
}

// TestTablesDroppedWhileHeld: the process that used the tables creates them again, and
// gets another range.
func TestTablesDroppedWhileHeld(t *testing.T) {
	onEachCenter(t, func(t *testing.T, _ engine, db *gorm.DB, c *dbseq.Center) {
		g := first(t, c, soon(request("orders", 1)))
		for _, table := range []string{"slot", "ticket", "meta"} {
			rawExec(t, db, "DROP TABLE snowlease_"+table)
		}
		_, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.ErrorContains(t, err, "no table snowlease_slot")
		_, err = c.Renew(t.Context(), g)
		require.ErrorIs(t, err, lease.ErrLost)
		requireDisjoint(t, g, acquireSoon(t, c, soon(request("orders", 1))))
	})
}

// TestNoTablesAreCreatedToLook: who only looks, and an operator, creates no tables, and is told so.
func TestNoTablesAreCreatedToLook(t *testing.T) {
	onEachCenter(t, func(t *testing.T, _ engine, db *gorm.DB, c *dbseq.Center) {
		_, err := c.Extras().Lister.Slots(t.Context(), "orders")
		require.ErrorContains(t, err, "there is no table snowlease_slot")
		operator := c.Extras().Operator
		_, err = operator.Record(t.Context(), "orders")
		require.ErrorIs(t, err, lease.ErrUnknown)
		require.ErrorContains(t, err, "there is no table snowlease_meta")
		require.ErrorIs(t, operator.Revoke(t.Context(), "orders", 0, 1), lease.ErrUnknown)
		_, err = operator.Quarantine(t.Context(), "orders", "by hand")
		require.ErrorIs(t, err, lease.ErrUnknown)
		require.False(t, db.Migrator().HasTable("snowlease_slot"))
	})
}

// TestTicketsDoNotPileUp: tickets are deleted even if their processes are killed while
// they hold a slot or while they borrow one.
func TestTicketsDoNotPileUp(t *testing.T) {
	onEachCenter(t, func(t *testing.T, _ engine, db *gorm.DB, c *dbseq.Center) {
		require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
		pass := func() { rawExec(t, db, "UPDATE snowlease_slot SET expires_ms = 1, hwm_ms = 1, ver = ver + 1") }
		for range 4 { // each is killed, and its lease expires
			for range 2 {
				acquire(t, c, request("orders", 2))
			}
			pass()
		}
		require.EqualValues(t, 2, number(t, db, "SELECT COUNT(*) FROM snowlease_ticket"))
		for range 2 {
			acquire(t, c, request("orders", 2))
		}
		_, err := c.Acquire(t.Context(), request("orders", 2))
		require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
		require.EqualValues(t, 2, number(t, db, "SELECT COUNT(*) FROM snowlease_ticket"), "who gets nothing deletes the own ticket")
		pass()

		for range 500 { // killed before it claimed a slot
			rawExec(t, db, "INSERT INTO snowlease_ticket (ns, owner) VALUES ('orders', 'killed')")
		}
		g := acquire(t, c, request("orders", 2))
		require.LessOrEqual(t, number(t, db, "SELECT COUNT(*) FROM snowlease_ticket"), int64(202), "100 per worker id are kept")
		before := number(t, db, "SELECT COUNT(*) FROM snowlease_ticket")
		require.NoError(t, c.Release(t.Context(), g, g.Now))
		require.EqualValues(t, before-1, number(t, db, "SELECT COUNT(*) FROM snowlease_ticket"))
	})
}

// TestTicketChoosesTheWorkerID: the ticket modulo the number of worker ids in the range
// chooses the worker id. If that is held, the least recently used one is lent.
func TestTicketChoosesTheWorkerID(t *testing.T) {
	onEachCenter(t, func(t *testing.T, _ engine, db *gorm.DB, c *dbseq.Center) {
		req := func() lease.Request {
			r := request("orders", 8)
			r.First, r.Last = 2, 6
			return r
		}
		require.NoError(t, c.Extras().Init(t.Context(), req()))
		skip := func() { rawExec(t, db, "INSERT INTO snowlease_ticket (ns, owner) VALUES ('orders', 'another')") }
		lent := func() (g lease.Grant, ticket int64) {
			g = acquire(t, c, req())
			return g, number(t, db, "SELECT ticket FROM snowlease_slot WHERE ns = 'orders' AND slot = ?", g.Worker)
		}
		seen := map[int64]bool{}
		for range 5 {
			g, ticket := lent()
			require.Equal(t, 2+ticket%5, g.Worker, "ticket %d", ticket)
			seen[g.Worker] = true
			require.NoError(t, c.Release(t.Context(), g, g.Floor))
			skip() // every second ticket, so that the order differs from that of use
		}
		require.Len(t, seen, 5)

		held, ticket := lent()
		rawExec(t, db, "UPDATE snowlease_slot SET expires_ms = 1000 - slot, ver = ver + 1 WHERE since_ms = 0") // the greatest was used longest ago
		for skip(); (number(t, db, "SELECT MAX(id) FROM snowlease_ticket")+1-ticket)%5 != 0; {
			skip()
		}
		want := int64(6)
		if held.Worker == want {
			want--
		}
		g, again := lent()
		require.Equal(t, ticket%5, again%5, "tickets %d and %d", ticket, again)
		require.Equal(t, want, g.Worker, "%d is held", held.Worker)
	})
}
