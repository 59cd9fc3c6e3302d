package dbseq_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
)

// TestChangedDirectory: a relative path of a SQLite file is that of the folder in which the center
// was opened, whichever is current when it connects.
func TestChangedDirectory(t *testing.T) {
	for _, dsn := range []string{"app.db", "file:app.db?_pragma=busy_timeout(5000)"} {
		before, after := t.TempDir(), t.TempDir()
		t.Chdir(before)
		c, err := dbseq.Open("sqlite", dsn)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, c.Close()) })
		t.Chdir(after)
		g := first(t, c, request("orders", 1))
		_, err = os.Stat(filepath.Join(after, "app.db"))
		require.ErrorIs(t, err, os.ErrNotExist)
		other, err := dbseq.Open("sqlite", filepath.Join(before, "app.db"))
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, other.Close()) })
		_, err = other.Renew(t.Context(), g)
		require.NoError(t, err)
	}
}
