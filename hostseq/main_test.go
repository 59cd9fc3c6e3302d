package hostseq

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ownDir returns a directory without links that nobody else can write to, whatever the umask.
func ownDir(t *testing.T) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, errors.Join(err, os.Chmod(dir, 0o700)))
	return dir
}

func worker(n int64) *int64 { return &n }

// narrow is a layout with four slots.
var narrow = snowflake.Layout{WorkerBits: 2}.WithDefaults()
