//go:build prove

package dbseq_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestOddMySQL: every statement works on a server with unusual settings, through TLS, which it
// requires.
func TestOddMySQL(t *testing.T) {
	t.Parallel()
	srv := testserver.NewMySQL(
		t, "--sql-require-primary-key=ON", "--innodb-autoinc-lock-mode=0", "--auto-increment-increment=32", "--auto-increment-offset=3",
		"--character-set-server=latin1", "--collation-server=latin1_swedish_ci", "--sql-mode=ANSI,TRADITIONAL,NO_BACKSLASH_ESCAPES,NO_AUTO_VALUE_ON_ZERO",
		"--explicit-defaults-for-timestamp=OFF", "--default-storage-engine=MyISAM", "--transaction-isolation=READ-UNCOMMITTED",
		"--default-time-zone=+09:00", "--performance-schema=ON",
	)
	e := engines[3]
	admin := e.db(t, srv.DSN()+"&tls=skip-verify")
	rawExec(t, admin, "SET GLOBAL require_secure_transport = ON")
	first(t, center(t, admin), request("orders", 2))
	require.NoError(t, segments(t, admin).Create(t.Context(), "shop/orders", 7))
	require.NoError(t, everyStatement(t, admin, admin))
}

// TestEveryStatementOnAnOddMySQL: no statement needs a mode, or is prepared on the server,
// and an account that the server has not cached is authenticated without TLS.
func TestEveryStatementOnAnOddMySQL(t *testing.T) {
	t.Parallel()
	srv := testserver.NewMySQL(
		t, "--sql-mode=", "--innodb-autoinc-lock-mode=1", "--auto-increment-increment=8", "--max-prepared-stmt-count=0", "--transaction-isolation=SERIALIZABLE",
		"--character-set-server=utf8mb4", "--collation-server=utf8mb4_0900_ai_ci", "--default-storage-engine=MEMORY",
	)
	e := engines[3]
	admin := e.db(t, srv.DSN()+"&interpolateParams=true")
	first(t, center(t, admin), request("orders", 4))
	require.NoError(t, segments(t, admin).Create(t.Context(), "shop/orders", 7))
	var plugin string
	require.NoError(t, admin.Raw("SELECT plugin FROM mysql.user WHERE user = 'snowlease'").Row().Scan(&plugin))
	require.Equal(t, "caching_sha2_password", plugin)
	rawExec(t, admin, "FLUSH PRIVILEGES")
	require.NoError(t, everyStatement(t, admin, e.db(t, srv.DSN())))
}

// TestSemiSynchronousFailover: with semi-synchronous replication, a promoted replica has
// every grant that was acknowledged, and nothing is acknowledged without a replica. So
// with WithDurable, a failover neither lends a range twice nor makes newcomers wait.
func TestSemiSynchronousFailover(t *testing.T) {
	t.Parallel()
	primary := testserver.NewMySQLPrimary(t, "--plugin-load-add=semisync_source.so", "--rpl-semi-sync-source-enabled=ON", "--rpl-semi-sync-source-timeout=4294967295")
	replica := testserver.NewMySQLReplica(t, primary, "--plugin-load-add=semisync_replica.so", "--rpl-semi-sync-replica-enabled=ON")
	e := engines[3]
	req := func() lease.Request { return soon(request("orders", 8)) }
	before := center(t, e.db(t, primary.DSN()), dbseq.WithDurable(true))
	promoted := e.db(t, replica.DSN())
	require.NoError(t, before.Extras().Init(t.Context(), req()))
	var grants []lease.Grant
	for range 3 {
		g := acquire(t, before, req())
		g, err := before.Renew(t.Context(), g)
		require.NoError(t, err)
		grants = append(grants, g)
	}
	const arrived = "SELECT COALESCE(MIN(GTID_SUBSET(received_transaction_set, @@GLOBAL.gtid_executed)), 0) FROM performance_schema.replication_connection_status"
	require.Eventually(t, func() bool { return number(t, promoted, arrived) == 1 }, time.Minute, 10*time.Millisecond, "the replica applies what it has received")
	replica.CutLink()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	_, err := before.Acquire(ctx, req())
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded, "no replica has it")

	primary.Kill()
	replica.Promote()
	after := center(t, promoted, dbseq.WithDurable(true))
	for range 5 {
		grants = append(grants, acquire(t, after, req()))
	}
	workers := map[int64]bool{}
	for _, g := range grants {
		workers[g.Worker] = true
	}
	require.Len(t, workers, 8, "the promoted server has them all on record")
	for _, g := range grants {
		_, err := after.Renew(t.Context(), g)
		require.NoError(t, err)
	}
}

// TestSelectLimit: a sql_select_limit of the server or of the DSN cuts no list of a center with a pool
// of its own. On a shared pool it cuts the settings, so the pool is refused.
func TestSelectLimit(t *testing.T) {
	onThose(t, "mysql", func(t *testing.T, e engine, dsn string) {
		limited := dsn + "&sql_select_limit=3"
		slots := func(c *dbseq.Center) (int, error) {
			found, err := c.Extras().Lister.Slots(t.Context(), "orders")
			return len(found), err
		}
		own, err := dbseq.Open("mysql", limited)
		require.NoError(t, err)
		defer own.Close()
		first(t, own, request("orders", 8))
		n, err := slots(own)
		require.NoError(t, err)
		require.Equal(t, 8, n)

		shared, err := dbseq.New(e.pool(t, limited), dbseq.MySQL)
		require.NoError(t, err)
		_, err = slots(shared)
		require.ErrorIs(t, err, lease.ErrSetup)
		require.ErrorContains(t, err, "sql_select_limit")

		// Only later is it set on a connection, which already has its settings read.
		pool := e.pool(t, dsn)
		pool.SetMaxOpenConns(1)
		shared, err = dbseq.New(pool, dbseq.MySQL)
		require.NoError(t, err)
		_, err = slots(shared)
		require.NoError(t, err)
		_, err = pool.ExecContext(t.Context(), "SET sql_select_limit = 3")
		require.NoError(t, err)
		n, err = slots(shared)
		require.NoError(t, err)
		require.Equal(t, 8, n)
	})
}
