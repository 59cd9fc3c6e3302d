//go:build prove

package etcdseq_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/testserver"
)

// TestSlowDisk checks that ids go on and stay unique where each sync of the leader's disk takes
// longer, and then that of all members.
func TestSlowDisk(t *testing.T) {
	t.Parallel()
	const delay = 80 * time.Millisecond // near the election timeout, members would elect all the time
	e := testserver.NewEtcd(t, 3)
	require.NoError(t, open(t, e.URLs()...).Extras().Init(t.Context(), request()))
	ctx, cancel := context.WithCancel(t.Context())
	c := newCrew(5 * time.Minute)
	defer func() { cancel(); c.wait.Wait() }()
	c.serve(ctx, 8, open(t, e.URLs()...))
	goOn := func() {
		ids, grants := c.ids.Load(), c.grants.Load()
		require.Eventually(t, func() bool {
			return c.ids.Load() > ids+10_000 && c.grants.Load() > grants+8
		}, 30*time.Second, 10*time.Millisecond)
	}
	e.SlowDisk(delay, e.Leader())
	goOn()
	e.SlowDisk(delay, e.Nodes...)
	goOn()
	client, began := dial(t, e.URLs()...), time.Time{}
	require.Eventually(t, func() bool {
		began = time.Now()
		_, err := client.Put(ctx, "other", "o")
		return err == nil
	}, 20*time.Second, 10*time.Millisecond)
	require.GreaterOrEqual(t, time.Since(began), delay, "else the disks are not slow")
	cancel()
	c.require(t)
}
