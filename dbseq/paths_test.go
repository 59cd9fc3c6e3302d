package dbseq_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/lease"
)

// TestSQLiteReachedByTwoPaths: each path of a file in WAL mode has a WAL of its own, so a
// file with two paths is refused.
func TestSQLiteReachedByTwoPaths(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return // does not tell
	}
	one, two := filepath.Join(t.TempDir(), "app.db"), filepath.Join(t.TempDir(), "app.db")
	open := func(path, mode string) *dbseq.Center {
		c, err := dbseq.Open("sqlite", "file:"+path+"?_pragma=journal_mode("+mode+")")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		return c
	}
	c := open(one, "WAL")
	g := first(t, c, request("orders", 2))
	require.NoError(t, c.Release(t.Context(), g, g.Floor))
	require.NoError(t, c.Close())

	require.NoError(t, os.Link(one, two))
	for _, path := range []string{one, two} {
		c := open(path, "WAL")
		_, err := c.Acquire(t.Context(), request("orders", 2))
		require.ErrorContains(t, err, "has 2 hard links: remove all but one")
		require.ErrorIs(t, err, lease.ErrSetup)
		require.NoError(t, c.Close())
	}
	c = open(two, "WAL")
	_, err := c.Numbers().Reserve(t.Context(), reserve(1))
	require.ErrorContains(t, err, "has 2 hard links")
	require.NoError(t, c.Close())

	// Without a WAL, the locks are those of the file.
	a, b := open(one, "DELETE"), open(two, "DELETE")
	requireDisjoint(t, acquire(t, a, request("orders", 2)), acquire(t, b, request("orders", 2)))
}
