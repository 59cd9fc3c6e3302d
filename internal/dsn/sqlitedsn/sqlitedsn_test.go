package sqlitedsn_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
)

func TestAbsolute(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a b%20#c")
	require.NoError(t, os.Mkdir(folder, 0o700))
	t.Chdir(folder)
	escaped := filepath.Dir(folder) + "/a b%2520%23c"
	for dsn, want := range map[string]string{
		"app.db":                   folder + "/app.db",
		"data/../app.db?_pragma=x": folder + "/data/../app.db?_pragma=x",
		"file:app.db?mode=ro":      "file:" + escaped + "/app.db?mode=ro",
		"file:a%20b.db":            "file:" + escaped + "/a%20b.db",
		"/app.db":                  "/app.db",
		"file:/app.db?x":           "file:/app.db?x",
		"file:///app.db":           "file:///app.db",
		"":                         "",
		"file:":                    "file:",
		":memory:":                 ":memory:",
		"file::memory:?cache=x":    "file::memory:?cache=x",
		"file:x?mode=memory":       "file:x?mode=memory",
		"file:x?cache=y&vfs=memdb": "file:x?cache=y&vfs=memdb",
	} {
		require.Equal(t, want, sqlitedsn.Absolute(dsn), dsn)
	}
}

// TestAbsoluteBelowAQuestionMark: a path cannot have one, since the drivers would cut it.
func TestAbsoluteBelowAQuestionMark(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a?b")
	require.NoError(t, os.Mkdir(folder, 0o700))
	t.Chdir(folder)
	require.Equal(t, "app.db", sqlitedsn.Absolute("app.db"))
	require.Equal(t, "file:"+filepath.Dir(folder)+"/a%3fb/app.db", sqlitedsn.Absolute("file:app.db"))
}

func TestInMemory(t *testing.T) {
	t.Parallel()
	for dsn, want := range map[string]bool{
		":memory:": true, "file::memory:?cache=shared": true, "file:x?mode=memory&cache=shared": true,
		"file:/x?vfs=memdb": true, "": true, "file:?mode=rwc": true,
		"app.db": false, "file:/data/app.db?_pragma=journal_mode(WAL)": false,
	} {
		require.Equal(t, want, sqlitedsn.InMemory(dsn), dsn)
	}
}
