//go:build prove

package testserver

import (
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// TestEach starts a program whose servers outlive no run.
func TestEach(t *testing.T) {
	t.Parallel()
	need(t, &redis, "")
	program := t.TempDir() + "/servers"
	out, err := exec.CommandContext(limit.Compiling(t), "go", "build", "-o", program, "./servers").CombinedOutput()
	require.NoError(t, err, string(out))

	cmd := exec.CommandContext(limit.Context(t), program, "redis", "mariadb")
	cmd.Env = append(os.Environ(), redisVariable+"=", mariadbVariable+"=of mine")
	input, err := cmd.StdinPipe()
	require.NoError(t, err)
	output, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	text := make([]byte, 200)
	said := ""
	for !strings.HasSuffix(said, "ready\n") {
		n, err := output.Read(text)
		require.NoError(t, err, said)
		said += string(text[:n])
	}
	addr := strings.TrimSuffix(strings.TrimPrefix(said, redisVariable+"="), "\nready\n")
	require.NoError(t, dial(addr))
	require.NoError(t, input.Close())
	require.NoError(t, cmd.Wait())
	require.Error(t, dial(addr))

	_, _, err = Each([]string{"oracle"}, nil)
	require.ErrorContains(t, err, "no engine is named oracle")
}

func dial(addr string) error {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	return conn.Close()
}
