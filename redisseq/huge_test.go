//go:build prove

package redisseq_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
)

// TestHugeTexts: a text of 60 MB in any field costs a process neither memory nor time.
func TestHugeTexts(t *testing.T) {
	server, _ := redistest.StartReal(t)
	s := &store{Store: server}
	c := opened(t, s)
	held := acquire(t, c)
	restore := s.Snapshot(t)
	k, huge := keys("orders"), strings.Repeat("9", 60<<20)
	var fields [][2]string
	for _, f := range []string{"pin", "pool", "run", "prev", "quar", "why", "init", "made", fmt.Sprintf("o:%x", held.Owner)} {
		fields = append(fields, [2]string{k[3], f})
	}
	worker := fmt.Sprint(held.Worker)
	fields = append(fields, [2]string{k[1], worker}, [2]string{k[2], worker})
	for _, f := range fields {
		restore()
		require.NoError(t, s.Admin.HSet(t.Context(), f[0], f[1], huge).Err())
		for verb, do := range map[string]func(ctx context.Context) error{
			"acquire":    func(ctx context.Context) error { _, err := c.Acquire(ctx, request()); return err },
			"acquire it": func(ctx context.Context) error { _, err := c.Acquire(ctx, held.Request); return err },
			"renew":      func(ctx context.Context) error { _, err := c.Renew(ctx, held); return err },
			"init":       func(ctx context.Context) error { return c.Extras().Init(ctx, request()) },
			"slots":      func(ctx context.Context) error { _, err := c.Extras().Lister.Slots(ctx, "orders"); return err },
			"record":     func(ctx context.Context) error { _, err := c.Extras().Operator.Record(ctx, "orders"); return err },
			"release":    func(ctx context.Context) error { return c.Release(ctx, held, held.Floor) },
			"retire":     func(ctx context.Context) error { return c.Extras().Operator.Retire(ctx, "orders", "by hand") },
		} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			what := fmt.Sprintf("%v: %s", f, verb)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err := do(ctx)
			runtime.ReadMemStats(&after)
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), what)
			require.NoError(t, ctx.Err(), what)
			cancel()
			if err != nil {
				require.Less(t, len(err.Error()), 2500, what)
				require.NotErrorIs(t, err, lease.ErrSetup, what)
			}
		}
	}
	s.Wipe(t)
}
