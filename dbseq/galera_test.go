package dbseq_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/internal/testserver"
)

// TestGaleraForgets: nodes of a Galera cluster that flush their logs late, as is often
// advised for it, forget grants when all of them end at once. Where another node leads
// then, a quarantine follows; with Never what is in use is lent again.
func TestGaleraForgets(t *testing.T) {
	t.Parallel()
	cluster := testserver.NewGalera(t, 3)
	e := engine{name: "mysql", open: mysql.Open}
	at := func(node int, q dbseq.Quarantine) *dbseq.Center {
		return center(t, e.db(t, cluster.Nodes[node].DSN()), dbseq.WithQuarantine(q))
	}
	qs := []dbseq.Quarantine{dbseq.OnChange, dbseq.Never}
	lent := map[dbseq.Quarantine]lease.Grant{}
	for _, q := range qs {
		require.NoError(t, at(0, q).Init(t.Context(), request(string(q), 1)))
	}
	for _, n := range cluster.Nodes {
		db, err := sql.Open("mysql", n.DSN())
		require.NoError(t, err)
		for _, lazy := range []string{"trx_commit = 0", "timeout = 2700"} {
			_, err = db.ExecContext(t.Context(), "SET GLOBAL innodb_flush_log_at_"+lazy)
			require.NoError(t, err)
		}
		require.NoError(t, db.Close())
	}
	for _, q := range qs {
		lent[q] = acquire(t, at(0, q), request(string(q), 1))
	}
	cluster.Kill()
	cluster.Restart()

	again := acquire(t, at(1, dbseq.Never), request(string(dbseq.Never), 1))
	require.Less(t, again.Floor, lent[dbseq.Never].Ceiling, "the grant was not forgotten")

	after := at(1, dbseq.OnChange)
	quarantine := requireQuarantine(t, after, request(string(dbseq.OnChange), 1))
	require.Contains(t, quarantine.Reason, "incarnation of the store changed")
	held, err := after.Renew(t.Context(), lent[dbseq.OnChange])
	require.NoError(t, err, "the holder goes on")
	for _, n := range cluster.Nodes {
		n.ShiftClock(time.Until(quarantine.Until.Add(held.TTL)))
	}
	requireDisjoint(t, held, acquire(t, after, request(string(dbseq.OnChange), 1)))
}
