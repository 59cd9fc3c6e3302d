//go:build prove

package dbseq_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gorm.io/gorm"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
)

// TestGroupReplication: a primary that is killed has lost no acknowledged grant, so even
// with WithDurable none is lent again; otherwise another primary starts a quarantine.
// A primary without a majority acknowledges nothing. If every node takes writes, statements
// that lose against those of another node are repeated, and nodes that answer in turn lend
// nothing.
func TestGroupReplication(t *testing.T) {
	t.Parallel()
	group := testserver.NewGroup(t, 3)
	dbs := map[int]*gorm.DB{}
	for i, n := range group.Nodes {
		dbs[i] = engines[3].db(t, n.DSN())
	}
	at := func(node int, durable bool) *dbseq.Center { return center(t, dbs[node], dbseq.WithDurable(durable)) }
	req := func(namespace string) lease.Request { return soon(request(namespace, 2)) }
	shows := func(node int, query string) bool {
		var n int64
		return dbs[node].Raw(query).Row().Scan(&n) == nil && n > 0
	}
	has := func(node int, what, query string) {
		require.Eventually(t, func() bool { return shows(node, query) }, time.Minute, 50*time.Millisecond, what)
	}

	before := at(0, false)
	for _, ns := range []string{"compared", "never", "in-turn", "both"} {
		require.NoError(t, before.Extras().Init(t.Context(), req(ns)))
	}
	held, unseen := acquire(t, before, req("compared")), acquire(t, before, req("never"))
	has(1, "the other nodes have what was acknowledged", "SELECT COUNT(*) FROM snowlease_slot WHERE ns = 'never' AND since_ms > 0")
	_, err := at(1, false).Renew(t.Context(), held)
	require.ErrorContains(t, err, "use the DSN of the primary", "a secondary")

	group.Nodes[1].Pause()
	group.Nodes[2].Pause()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	_, err = before.Renew(ctx, held)
	cancel()
	require.ErrorIs(t, err, context.DeadlineExceeded, "no majority")
	group.Nodes[1].Resume()
	group.Nodes[2].Resume()
	held = renewSoon(t, before, held)

	group.Nodes[0].Kill()
	const primary = "SELECT COUNT(*) FROM performance_schema.replication_group_members WHERE member_role = 'PRIMARY' AND member_state = 'ONLINE' AND member_id = @@server_uuid"
	leads := 0
	require.Eventually(t, func() bool {
		leads = 1 + leads%2
		return shows(leads, primary)
	}, time.Minute, 50*time.Millisecond)
	has(leads, "it takes writes", "SELECT NOT @@GLOBAL.super_read_only")
	again := acquire(t, at(leads, true), req("never"))
	requireDisjoint(t, unseen, again)
	require.NotEqual(t, unseen.Worker, again.Worker, "the first one is on record")
	after := at(leads, false)
	require.Contains(t, requireQuarantine(t, after, req("compared")).Reason, "incarnation of the store changed")
	requireDisjoint(t, held, renewSoon(t, after, held), acquireSoon(t, after, req("compared")))

	group.Nodes[0].Start() // rejoins
	has(leads, "three members, as the node sees that is asked to switch", "SELECT COUNT(*) = 3 FROM performance_schema.replication_group_members WHERE member_state = 'ONLINE'")
	rawExec(t, dbs[leads], "SELECT group_replication_switch_to_multi_primary_mode()")
	for i := range 3 {
		has(i, "it takes writes", "SELECT NOT @@GLOBAL.super_read_only")
		rawExec(t, dbs[i], "SET GLOBAL group_replication_consistency = 'BEFORE'")
	}
	for i := range 4 {
		node := []int{leads, 0}[i%2]
		q := requireQuarantine(t, center(t, engines[3].db(t, group.Nodes[node].DSN())), req("in-turn"))
		require.Equal(t, i > 1, strings.Contains(q.Reason, "back and forth"), q.Reason)
	}

	var writers sync.WaitGroup
	for i := range 3 {
		c := at(i, true)
		writers.Go(func() {
			for range 20 {
				if _, err := c.Extras().Operator.Quarantine(t.Context(), "both", "by hand"); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	writers.Wait()
}

// TestGroupThatIsJoinedAgain: a member that leaves and joins again may lag, and be the first of a new group.
func TestGroupThatIsJoinedAgain(t *testing.T) {
	t.Parallel()
	db := engines[3].db(t, testserver.NewGroup(t, 1).Nodes[0].DSN())
	c := center(t, db)
	require.NoError(t, c.Extras().Init(t.Context(), request("orders", 2)))
	rawExec(t, db, "STOP GROUP_REPLICATION")
	rawExec(t, db, "START GROUP_REPLICATION")
	requireQuarantine(t, c, request("orders", 2))
}
