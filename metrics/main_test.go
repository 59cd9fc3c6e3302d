package metrics_test

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// promtool runs the checker of Prometheus, which is in Debian's package prometheus.
func promtool(t *testing.T, stdin []byte, args ...string) {
	t.Helper()
	path, err := exec.LookPath("promtool")
	if err != nil && os.Getenv("CI") != "true" {
		t.Skip("promtool is missing: make prove installs it and runs this test; or install the package prometheus")
	}
	require.NoError(t, err, "install the package prometheus")
	cmd := exec.CommandContext(limit.Context(t), path, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %v: %s", args, out)
}

func fixed(t *testing.T, worker int64) *idworker.IdWorker {
	t.Helper()
	w, err := snowlease.Fixed(worker, snowlease.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

func open(t *testing.T, cfg idworker.Config, center lease.Center) *idworker.IdWorker {
	t.Helper()
	w, err := idworker.Open(t.Context(), cfg, idworker.Clients{Center: center})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, w.Close()) })
	return w
}

// center returns a center with initialized namespaces, so without a quarantine.
func center(t *testing.T, skew time.Duration, namespaces ...string) *memcenter.Center {
	t.Helper()
	c := memcenter.New()
	for _, ns := range namespaces {
		req := memcenter.NewRequest(ns, snowflake.Layout{})
		req.Owner, req.Skew = lease.NewOwner(), skew
		require.NoError(t, c.Init(t.Context(), req))
	}
	return c
}
