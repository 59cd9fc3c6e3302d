//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

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

// afterIDs returns h, which does nothing before the first process has made ids.
func afterIDs(h harm) harm {
	return harm{h.name, func(ctx context.Context, a *attack) error {
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
			if info, err := os.Stat(filepath.Join(a.dir, "0.ids")); err == nil && info.Size() >= 16 {
				return h.do(ctx, a)
			}
			if time.Now().After(deadline) {
				return errors.New("no ids within a minute")
			}
		}
	}}
}

func TestAttack(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	var late []harm
	for _, h := range harms {
		late = append(late, afterIDs(h))
	}
	require.NoError(t, run(t.Context(), []string{"-for", "6s", "-processes", "4", "-every", "700ms"}, &out, late), &out)
	require.Regexp(t, `\n[1-9]\d* ids of [1-9]\d* processes, 0 issued twice\n$`, out.String())
}

// A process that makes the ids of another one again is found.
func TestPlantedDuplicate(t *testing.T) {
	t.Parallel()
	plant := afterIDs(harm{"repeat ids", func(_ context.Context, a *attack) error {
		raw, err := os.ReadFile(filepath.Join(a.dir, "0.ids"))
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(a.dir, "planted.ids"), raw[:16], 0o600)
	}})
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
