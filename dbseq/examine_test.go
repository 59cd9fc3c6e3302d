package dbseq_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/lease"
)

// The tests of cmd/snowlease run the doctor on servers with faulty settings.
func TestExamine(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c, n := counted(t, e, e.db(t, dsn), dsn)
		seen := func() map[string]lease.Finding {
			all, err := c.Extras().Examine(t.Context(), "orders")
			require.NoError(t, err)
			by := map[string]lease.Finding{}
			for _, f := range all {
				by[f.Check] = f
			}
			return by
		}
		require.Equal(t, lease.Finding{Level: lease.LevelOK, Check: "rights", Seen: "there is no table snowlease_slot, snowlease_ticket, snowlease_meta; the account may create it: true"}, seen()["rights"])
		first(t, c, request("orders", 2))
		require.Equal(t, lease.Finding{Level: lease.LevelOK, Check: "rights", Seen: "the account may read and write the tables"}, seen()["rights"])
		require.Equal(t, lease.LevelOK, seen()["clock"].Level)

		n.before = func(int64, string) error { return errReply }
		for check, f := range seen() {
			require.Equal(t, lease.LevelNote, f.Level, check)
			require.Equal(t, "could not be checked: "+errReply.Error(), f.Seen, check)
		}
		_, err := c.Extras().Examine(t.Context(), "no namespace")
		require.ErrorContains(t, err, "no namespace")
	})
}

// On PostgreSQL, the doctor names the roles that may create in the schema of the tables.
func TestExamineSchema(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, e engine, dsn string) {
		if e.speaks != "postgres" {
			return
		}
		db := e.db(t, dsn)
		user := db.Migrator().CurrentDatabase() + "_c"
		rawExec(t, db, "CREATE ROLE "+user+" LOGIN PASSWORD 'pw'")
		t.Cleanup(func() { db.Exec("DROP OWNED BY " + user); db.Exec("DROP ROLE " + user) })
		seen := func(dsn string) lease.Finding {
			all, err := center(t, e.db(t, dsn)).Extras().Examine(t.Context(), "orders")
			require.NoError(t, err)
			i := slices.IndexFunc(all, func(f lease.Finding) bool { return f.Check == "schema" })
			require.GreaterOrEqual(t, i, 0, all)
			return all[i]
		}
		rawExec(t, db, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		require.Equal(t, lease.LevelOK, seen(dsn).Level)
		rawExec(t, db, "GRANT CREATE ON DATABASE "+db.Migrator().CurrentDatabase()+" TO "+user)
		require.Equal(t, user+" may create a schema that comes before that of the tables", seen(dsn).Seen)
		require.Equal(t, lease.LevelOK, seen(dsn+" search_path=public").Level, "no schema comes before it")
		rawExec(t, db, "GRANT CREATE ON SCHEMA public TO "+user)
		require.Equal(t, lease.LevelNote, seen(dsn).Level)
		require.Equal(t, user+" may create in the schema of the tables", seen(dsn).Seen)
		require.Equal(t, lease.LevelOK, seen(dsn+" user="+user+" password=pw").Level, "its own right")
		rawExec(t, db, "GRANT CREATE ON SCHEMA public TO PUBLIC")
		require.Equal(t, "PUBLIC, "+user+" may create in the schema of the tables", seen(dsn).Seen)
		require.Contains(t, seen(dsn).Advice, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		rawExec(t, db, "REVOKE CREATE ON SCHEMA public FROM PUBLIC, "+user)
		rawExec(t, db, "CREATE SCHEMA theirs AUTHORIZATION "+user)
		require.Equal(t, user+" may create in the schema of the tables", seen(dsn+" search_path=theirs").Seen, "as its owner")
	})
}

// A statement with an incarnation cannot run before the kind of server is known.
func TestStatementsOfAnUnknownServer(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		c := center(t, e.db(t, dsn))
		require.NoError(t, c.Ask(t.Context(), "clock"))
		require.Error(t, c.Ask(t.Context(), "incarnation"))
		_, err := c.Extras().Operator.Incarnation(t.Context(), "orders")
		require.NoError(t, err)
		require.NoError(t, c.Ask(t.Context(), "incarnation"))
	})
}
