//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain lets the test program be the processes that it starts.
func TestMain(m *testing.M) {
	if os.Getenv(orderVar) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestAttack(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run(t.Context(), []string{"-for", "8s", "-processes", "4"}, &out, harms), &out)
	require.Regexp(t, `\n[1-9]\d* ids of [1-9]\d* processes, 0 issued twice\n$`, out.String())
}

// A process that makes the ids of another one again is found.
func TestPlantedDuplicate(t *testing.T) {
	t.Parallel()
	plant := harm{"repeat ids", func(_ context.Context, a *attack) error {
		raw, err := os.ReadFile(filepath.Join(a.dir, "0.ids"))
		if err != nil || len(raw) < 16 {
			return err
		}
		return os.WriteFile(filepath.Join(a.dir, "planted.ids"), raw[:16], 0o600)
	}}
	var out bytes.Buffer
	err := run(t.Context(), []string{"-for", "5s", "-processes", "2", "-every", "200ms"}, &out, []harm{plant})
	require.EqualError(t, err, "2 ids were issued twice", &out)
}

func TestNamespaceOfAnother(t *testing.T) {
	t.Parallel()
	s := store{Driver: "sqlite", DSN: filepath.Join(t.TempDir(), "orders.db")}
	center, closer, err := s.open()
	require.NoError(t, err)
	defer func(c io.Closer) { require.NoError(t, c.Close()) }(closer)
	cfg := order{Namespace: "orders"}.config()
	require.NoError(t, claim(t.Context(), center, cfg))
	require.ErrorContains(t, claim(t.Context(), center, cfg), `namespace "orders" is not mine`)
}
