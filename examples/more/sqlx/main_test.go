package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRun(t *testing.T) {
	t.Parallel()
	dsn := filepath.Join(t.TempDir(), "sqlx.db")
	for range 2 {
		var out bytes.Buffer
		require.NoError(t, run(t.Context(), dsn, &out))
		require.Regexp(t, `^(\d{18} [123]00\n){3}$`, out.String())
	}
}
