package counter_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
)

// TestSequenceOutlivesAWrongPassword: a start ends by a wrong password or missing rights. A
// Counter that has started waits until they are right again.
func TestSequenceOutlivesAWrongPassword(t *testing.T) {
	t.Parallel()
	s := redistest.NewReal(t)
	user := func(rules ...any) {
		require.NoError(t, s.Admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "app", "reset", "on"}, rules...)...).Err())
		require.NoError(t, s.Admin.Do(t.Context(), "CLIENT", "KILL", "USER", "app").Err())
	}
	client := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "app", Password: "right"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	right := []any{">right", "~*", "+@all"}
	wrongs := map[string][]any{"password": {">other", "~*", "+@all"}, "rights": {">right", "~*", "+@all", "-evalsha", "-eval"}}
	for name, wrong := range wrongs {
		user(wrong...)
		c, err := counter.New(client, sequenceConfig(quick))
		require.NoError(t, err)
		require.ErrorIs(t, c.Start(context.Background()), lease.ErrSetup, name)
		c.Close()
	}
	user(right...)
	c := sequence(t, client, strict)
	next(t, c)
	for name, wrong := range wrongs {
		user(wrong...)
		issued := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_, err := c.NextIDWait(ctx)
			issued <- err
		}()
		calls := c.Status().Calls
		require.Eventually(t, func() bool { return c.Status().Calls > calls+2 && c.Status().Err != nil }, time.Minute, time.Millisecond, name)
		require.ErrorIs(t, c.Status().Err, lease.ErrSetup, name)
		user(right...)
		require.NoError(t, <-issued, name)
	}
}
