//go:build prove

package dbseq_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestGalera: two nodes of a Galera cluster that answer in turn lend nothing. Nodes that
// flush their logs late, as often advised for Galera, lose grants when all of them lose
// power. If another node is used afterwards, its grants lie above the lost ones. With
// WithDurable, ranges in use are lent again.
func TestGalera(t *testing.T) {
	t.Parallel()
	cluster := testserver.NewGalera(t, 3)
	e := engines[1]
	at := func(node int, durable bool) *dbseq.Center {
		// Reads wait for writes on other nodes.
		return center(t, e.db(t, cluster.Nodes[node].DSN()+"&wsrep_sync_wait=7"), dbseq.WithDurable(durable))
	}
	req := func(namespace string) lease.Request { return soon(request(namespace, 1)) }
	for _, ns := range []string{"compared", "never", "in-turn"} {
		require.NoError(t, at(0, false).Extras().Init(t.Context(), req(ns)))
	}
	for i := range 4 {
		q := requireQuarantine(t, at((i+1)%2, false), req("in-turn"))
		require.Equal(t, i > 0, strings.Contains(q.Reason, "back and forth"), q.Reason)
	}

	// A power failure leaves only what is on disk at this point.
	cluster.Kill()
	for _, n := range cluster.Nodes {
		require.NoError(t, exec.CommandContext(limit.Context(t), "cp", "-a", n.Dir(), n.Dir()+".kept").Run())
	}
	cluster.Restart()
	lent := acquire(t, at(0, true), req("compared"))
	unseen := acquire(t, at(0, true), req("never"))
	cluster.Kill()
	for _, n := range cluster.Nodes {
		n.Wipe()
		require.NoError(t, os.Rename(n.Dir()+".kept", n.Dir()))
	}
	cluster.Restart()
	again := acquire(t, at(1, true), req("never"))
	require.Less(t, again.Floor, unseen.Ceiling)
	after := at(0, false)
	require.Contains(t, requireQuarantine(t, after, req("compared")).Reason, "incarnation of the store changed")
	_, err := after.Renew(t.Context(), lent)
	require.ErrorIs(t, err, lease.ErrLost, "it is forgotten")
	requireDisjoint(t, lent, acquireSoon(t, after, req("compared")))
}

// TestGaleraWhoseMembersChange: the change may be the end of a partition, whose other side lent.
func TestGaleraWhoseMembersChange(t *testing.T) {
	t.Parallel()
	cluster, req := testserver.NewGalera(t, 2), soon(request("orders", 1))
	c := center(t, engines[1].db(t, cluster.Nodes[0].DSN()))
	require.NoError(t, c.Extras().Init(t.Context(), req))
	cluster.Nodes[1].Stop()
	requireQuarantine(t, c, req)
}
