//go:build prove

package dbseq_test

import (
	"errors"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// TestIncarnationOfAClone: a server with another's records has its own incarnation, even if
// both started in the same second: a MariaDB with the same server_id, and a MySQL with the
// same server_uuid, as in a copy of the data folder.
func TestIncarnationOfAClone(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"mariadb", "mysql"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := servers[name]
			one := e.start(t, "--server-id=1") // the default
			db := e.db(t, one.DSN())
			s := newStore(db)
			g := first(t, center(t, db), soon(request("orders", 4)))
			records := s.Snapshot(t)

			other := e.start(t, "--server-id=1")
			if name == "mysql" {
				other.Stop()
				copyData(t, filepath.Join(one.Dir(), "auto.cnf"), filepath.Join(other.Dir(), "auto.cnf"))
				other.Start()
			}
			db = e.db(t, other.DSN())
			c := center(t, db)
			require.NoError(t, c.Extras().Init(t.Context(), request("other", 1)))
			s.db = db
			records()
			requireDisjoint(t, g, renewSoon(t, c, g))
			r, err := c.Extras().Operator.Record(t.Context(), "orders")
			require.NoError(t, err)
			require.Contains(t, r.Reason, "incarnation of the store changed from")
			require.NotEqual(t, path.Dir(r.Former), path.Dir(r.Incarnation), "without the seconds")
			if uid := ""; db.Raw("SELECT @@server_uid").Row().Scan(&uid) == nil {
				require.Contains(t, r.Incarnation, "/"+uid+"/")
			}
			was, _, _ := strings.Cut(r.Former, "/")
			is, _, _ := strings.Cut(r.Incarnation, "/")
			require.Equal(t, was, is, "the server_id or server_uuid")
		})
	}
}

// TestReadOnlyServer: the error says which server to use.
func TestReadOnlyServer(t *testing.T) {
	onEach(t, func(t *testing.T, e engine, dsn string) {
		db := e.db(t, dsn)
		g := first(t, center(t, db), request("orders", 4))
		c := center(t, e.db(t, e.readOnly(t, dsn)))
		want := readOnlyAdvice(e)
		for range 2 {
			_, err := c.Acquire(t.Context(), request("orders", 4))
			require.ErrorContains(t, err, want)
			require.ErrorContains(t, err, "acquire a worker id on "+c.Extras().Name)
			require.Equal(t, e.speaks == "sqlite", errors.Is(err, lease.ErrSetup), "a failover ends it elsewhere: %v", err)
			_, err = c.Renew(t.Context(), g)
			require.ErrorContains(t, err, want)
		}
		require.NoError(t, segments(t, db).Create(t.Context(), "shop/orders", 1))
		_, err := segments(t, e.db(t, e.readOnly(t, dsn))).Reserve(t.Context(), reserve(1))
		require.ErrorContains(t, err, want)
	})
}

// TestUnreadableIncarnation: an incarnation that cannot be read is an error that names
// both remedies. It never counts as unchanged.
func TestUnreadableIncarnation(t *testing.T) {
	onAccounts(t, "postgres", func(t *testing.T, a *account) {
		a.admin("GRANT CREATE ON SCHEMA public TO " + a.name)
		a.admin("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
		_, err := a.open(a.right()).Acquire(t.Context(), request("orders", 4))
		require.ErrorContains(t, err, "let the account run")
		require.ErrorContains(t, err, "pg_control_system")
		require.ErrorContains(t, err, "durable: true")
		require.NotContains(t, err.Error(), "dbseq/schema", "no other advice")
		require.ErrorIs(t, err, lease.ErrSetup)
		require.False(t, a.db.Migrator().HasTable("snowlease_slot"), "nothing was written")
		first(t, center(t, a.e.db(t, a.right()), dbseq.WithDurable(true)), request("orders", 4))
	})
}
