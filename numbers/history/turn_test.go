package history_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers/history"
)

// Calls return the error of Ready until there is none, whatever they are for.
func TestNotReady(t *testing.T) {
	t.Parallel()
	early := errors.New("no worker id yet")
	ready := early
	i := issuer(t, &segmentcheck.Memory{}, history.Of{Layout: layout, Reserved: 1, Ready: func() error { return ready }})
	_, err := i.Since(t.Context())
	require.NoError(t, err)
	other := i.Backfill(time.Now())
	for range 2 {
		dst := []int64{7}
		require.ErrorIs(t, other.NextIDsAt(t.Context(), time.Now().Add(-time.Hour), dst), early)
		require.Zero(t, dst[0])
		id, err := i.NextIDAt(t.Context(), time.Now())
		require.ErrorIs(t, err, early)
		require.Zero(t, id)
	}
	ready = nil
	_, err = other.NextIDAt(t.Context(), time.Now().Add(-time.Hour))
	require.NoError(t, err)
}

// slow is a store that notes how many calls it has at once.
type slow struct {
	segmentcheck.Memory
	calls, most atomic.Int64
}

func (s *slow) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	s.most.Store(max(s.most.Load(), s.calls.Add(1)))
	defer s.calls.Add(-1)
	time.Sleep(time.Second)
	return s.Memory.Reserve(ctx, r)
}

// An Issuer and those made from it make one call at a time. A call that waits for its turn
// ends with its context.
func TestOneCallAtATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		s := new(slow)
		i := issuer(t, s, history.Of{Layout: layout, Reserved: 1})
		again, err := i.For(0)
		require.NoError(t, err)
		at := time.Now().Add(-time.Hour)
		for _, i := range []*history.Issuer{i, again, i.Backfill(time.Now())} {
			go func() { _, _ = i.Backfill(time.Now()).NextIDAt(context.Background(), at) }()
		}
		time.Sleep(time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
		defer cancel()
		_, err = i.Backfill(time.Now()).NextIDAt(ctx, at)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		time.Sleep(time.Minute)
		require.EqualValues(t, 1, s.most.Load())
	})
}
