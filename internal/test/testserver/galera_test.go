//go:build prove

package testserver

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGalera checks that what one node has acknowledged is on all nodes, that a killed
// node gets what it missed, and that a cluster comes back after all nodes were killed.
func TestGalera(t *testing.T) {
	t.Parallel()
	c := NewGalera(t, 3)
	const synced = "&wsrep_sync_wait=7" // a node answers after all that others have acknowledged, also an INSERT
	exec := func(n int, statement string) {
		t.Helper()
		_, err := openSQL(t, "mysql", c.Nodes[n].DSN()+synced).ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	rows := func(n, want int) {
		t.Helper()
		var got int
		require.NoError(t, openSQL(t, "mysql", c.Nodes[n].DSN()+synced).QueryRow("SELECT COUNT(*) FROM t").Scan(&got))
		require.Equal(t, want, got)
	}
	exec(0, "CREATE TABLE t (id BIGINT PRIMARY KEY)")
	exec(1, "INSERT INTO t VALUES (1)")
	rows(2, 1)
	c.Nodes[0].Kill()
	exec(1, "INSERT INTO t VALUES (2)")
	c.Nodes[0].Start()
	rows(0, 2)
	c.Kill()
	c.Restart()
	exec(2, "INSERT INTO t VALUES (3)")
	for n := range c.Nodes {
		rows(n, 3)
	}
}
