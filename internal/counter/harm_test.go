//go:build prove

package counter_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/test/redistest"
)

func TestHarmedRecords(t *testing.T) {
	t.Parallel()
	redistest.EachHarmed(t, harmedCounter)
}

func harmedCounter(t *testing.T, h *redistest.Harmed) {
	s := h.Store
	member := func() *counter.Counter {
		m, err := counter.New(s.Client(t), counter.Config{Namespace: "orders", Prefetch: 1, Skew: time.Millisecond, MaxAhead: 2 * time.Millisecond}, s.Options...)
		require.NoError(t, err)
		return m
	}
	m := member()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if s.StandsStill {
		_, _, _ = m.Reserve(ctx, 1) // the quarantine of a new namespace
		s.Sleep(time.Second)
	}
	require.NoError(t, m.Start(ctx))
	id, err := m.NextID()
	require.NoError(t, err)
	key, fields := "snowlease:{orders}:sequence", []string(nil)
	for field := range s.Admin.HGetAll(ctx, key).Val() {
		fields = append(fields, key+" "+field+" field")
	}
	require.Len(t, fields, 9)
	h.Each(fields, func(what string) {
		fresh := member()
		defer fresh.Close()
		for verb, on := range map[string]*counter.Counter{"a member": m, "a new member": fresh} {
			before := h.Records(t)
			_ = h.Call(what+": "+verb, before, func(ctx context.Context) error {
				first, got, err := on.Reserve(ctx, 1)
				if err == nil {
					require.EqualValues(t, 1, got, what)
					require.Positive(t, first, what)
				}
				return err
			})
			require.Less(t, len(fmt.Sprint(h.Records(t))), 1<<20+2000, "%s: %s", what, verb)
		}
		before := h.Records(t)
		_ = h.Call(what+": start", before, func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			if err := fresh.Start(ctx); !errors.Is(err, context.DeadlineExceeded) {
				return err
			}
			return nil
		})
	})
	again, err := m.NextID()
	if err == nil {
		require.Greater(t, again, id)
	}
	m.Close()
	s.Wipe(t)
}
