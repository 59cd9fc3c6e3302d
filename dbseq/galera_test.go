package dbseq_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gorm.io/driver/mysql"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestGalera: two nodes of a Galera cluster that answer in turn lend nothing. Nodes that
// flush their logs late, as is often advised for Galera, forget grants when all of them
// lose power. Where another node is written to then, what is lent lies above them; with
// Never, what is in use is lent again.
func TestGalera(t *testing.T) {
	t.Parallel()
	cluster := testserver.NewGalera(t, 3)
	e := engine{name: "mysql", open: mysql.Open}
	at := func(node int, q dbseq.Quarantine) *dbseq.Center {
		// It waits for what was written on other nodes.
		return center(t, e.db(t, cluster.Nodes[node].DSN()+"&wsrep_sync_wait=7"), dbseq.WithQuarantine(q))
	}
	req := func(namespace string) lease.Request { return soon(request(namespace, 1)) }
	for _, ns := range []string{"compared", "never", "in-turn"} {
		require.NoError(t, at(0, dbseq.OnChange).Init(t.Context(), req(ns)))
	}
	for i := range 4 {
		q := requireQuarantine(t, at((i+1)%2, dbseq.OnChange), req("in-turn"))
		require.Equal(t, i > 0, strings.Contains(q.Reason, "back and forth"), q.Reason)
	}

	// What is on disk by now is all that a loss of power leaves.
	cluster.Kill()
	for _, n := range cluster.Nodes {
		require.NoError(t, exec.Command("cp", "-a", n.Dir(), n.Dir()+".kept").Run())
	}
	cluster.Restart()
	lent := acquire(t, at(0, dbseq.Never), req("compared"))
	unseen := acquire(t, at(0, dbseq.Never), req("never"))
	cluster.Kill()
	for _, n := range cluster.Nodes {
		n.Wipe()
		require.NoError(t, os.Rename(n.Dir()+".kept", n.Dir()))
	}
	cluster.Restart()

	again := acquire(t, at(1, dbseq.Never), req("never"))
	require.Less(t, again.Floor, unseen.Ceiling)

	after := at(0, dbseq.OnChange)
	require.Contains(t, requireQuarantine(t, after, req("compared")).Reason, "incarnation of the store changed")
	_, err := after.Renew(t.Context(), lent)
	require.ErrorIs(t, err, lease.ErrLost, "it is forgotten")
	requireDisjoint(t, lent, acquireSoon(t, after, req("compared")))
}
