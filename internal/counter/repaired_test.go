package counter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
)

// TestWaitEndsWithARepair: who waits for times that another program wrote 30 hours ahead goes on
// soon after the key was deleted, and not in 30 hours.
func TestWaitEndsWithARepair(t *testing.T) {
	t.Parallel()
	s := redistest.NewReal(t)
	const key = "snowlease:{orders}:sequence"
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, field := range []string{"tick", "quar"} {
		c, err := counter.New(s.Client(t), counter.Config{Namespace: "orders", Prefetch: 1})
		require.NoError(t, err)
		require.NoError(t, c.Start(ctx))
		_, err = c.NextIDWait(ctx)
		require.NoError(t, err)
		late := time.Now().Add(30 * time.Hour).UnixMicro()
		if field == "tick" {
			tick, err := s.Admin.HGet(ctx, key, field).Int64()
			require.NoError(t, err)
			late = tick + (30 * time.Hour).Milliseconds()
		}
		require.NoError(t, s.Admin.HSet(ctx, key, field, late).Err())
		done := make(chan error, 1)
		go func() {
			_, err := c.NextIDWait(context.WithoutCancel(ctx)) // without a deadline
			done <- err
		}()
		require.Eventually(t, func() bool { return c.Status().Err != nil }, time.Minute, 10*time.Millisecond)
		require.NoError(t, s.Admin.Del(ctx, key).Err())
		select {
		case err := <-done:
			require.NoError(t, err, field)
		case <-ctx.Done():
			require.Fail(t, "it still waits", field)
		}
		require.NoError(t, c.Close())
	}
}
