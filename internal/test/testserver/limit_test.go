//go:build prove

package testserver

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// TestWaiting is the child process of TestLimit. Otherwise it does nothing.
func TestWaiting(t *testing.T) {
	if os.Getenv(childVariable) != "wait" {
		return
	}
	srv := NewMariaDB(t)
	db := openSQL(t, "mysql", srv.DSN())
	require.NoError(t, db.Ping())
	srv.Pause()
	limit.Set(t, time.Millisecond)
	_, err := db.Exec("SELECT 1")
	require.Error(t, err)
	<-limit.Context(t).Done()
}

// TestLimit checks that a test fails, says where it waits, and shows the log of a server that
// does not answer.
func TestLimit(t *testing.T) {
	t.Parallel()
	need(t, &mariadb, "")
	cmd := exec.CommandContext(limit.Context(t), os.Args[0], "-test.run=^TestWaiting$")
	cmd.Env = append(os.Environ(), childVariable+"=wait")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, "%s", out)
	for _, part := range []string{
		"--- FAIL: TestWaiting", "the test is not done within 1ms. It waits here:", "testserver.TestWaiting(", "limit_test.go:",
		"MariaDB at 127.0.0.1:", "the end of its log:", "ready for connections",
	} {
		require.Contains(t, string(out), part)
	}
}
