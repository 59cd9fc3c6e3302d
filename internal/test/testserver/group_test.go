//go:build prove

package testserver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGroup checks that what one node has acknowledged is on all nodes, that another one
// takes writes when the primary is killed, and that this gets what it missed.
func TestGroup(t *testing.T) {
	t.Parallel()
	g := NewGroup(t, 3)
	exec := func(n int, statement string) error {
		_, err := openSQL(t, "mysql", g.Nodes[n].DSN()).ExecContext(t.Context(), statement)
		return err
	}
	rows := func(n, want int) {
		t.Helper()
		within(t, func(ctx context.Context) error {
			return until(ctx, "the rows do not arrive", func() (bool, error) {
				var got int
				err := openSQL(t, "mysql", g.Nodes[n].DSN()).QueryRowContext(ctx, "SELECT COUNT(*) FROM t").Scan(&got)
				return got == want, err
			})
		})
	}
	require.NoError(t, exec(0, "CREATE TABLE t (id BIGINT PRIMARY KEY)"))
	require.NoError(t, exec(0, "INSERT INTO t VALUES (1)"))
	for n := range g.Nodes {
		rows(n, 1)
	}
	require.ErrorContains(t, exec(1, "INSERT INTO t VALUES (2)"), "super-read-only")
	g.Nodes[0].Kill()
	require.Eventually(t, func() bool {
		return exec(1, "INSERT INTO t VALUES (2)") == nil || exec(2, "INSERT INTO t VALUES (2)") == nil
	}, 30*time.Second, 50*time.Millisecond)
	g.Nodes[0].Start()
	rows(0, 2)
}
