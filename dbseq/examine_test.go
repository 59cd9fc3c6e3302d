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
		c, n := counted(t, e, dsn)
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
	onAccounts(t, "postgres", func(t *testing.T, a *account) {
		seen := func(dsn string) lease.Finding {
			all, err := a.open(dsn).Extras().Examine(t.Context(), "orders")
			require.NoError(t, err)
			i := slices.IndexFunc(all, func(f lease.Finding) bool { return f.Check == "schema" })
			require.GreaterOrEqual(t, i, 0, all)
			return all[i]
		}
		require.Equal(t, lease.LevelOK, seen(a.dsn).Level)
		a.admin("GRANT CREATE ON DATABASE " + a.database + " TO " + a.name)
		require.Equal(t, a.user+" may create a schema that comes before that of the tables", seen(a.dsn).Seen)
		require.Equal(t, lease.LevelOK, seen(a.dsn+" search_path=public").Level, "no schema comes before it")
		a.admin("GRANT CREATE ON SCHEMA public TO " + a.name)
		require.Equal(t, lease.LevelNote, seen(a.dsn).Level)
		require.Equal(t, a.user+" may create in the schema of the tables", seen(a.dsn).Seen)
		require.Equal(t, lease.LevelOK, seen(a.right()).Level, "its own right")
		a.admin("GRANT CREATE ON SCHEMA public TO PUBLIC")
		require.Equal(t, "PUBLIC, "+a.user+" may create in the schema of the tables", seen(a.dsn).Seen)
		require.Contains(t, seen(a.dsn).Advice, "REVOKE CREATE ON SCHEMA public FROM PUBLIC")
		a.admin("REVOKE CREATE ON SCHEMA public FROM PUBLIC, " + a.name)
		a.admin("CREATE SCHEMA theirs AUTHORIZATION " + a.name)
		require.Equal(t, a.user+" may create in the schema of the tables", seen(a.dsn+" search_path=theirs").Seen, "as its owner")
	})
}
