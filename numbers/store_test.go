package numbers_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("the store is down")

// A store is a Memory with faults.
type store struct {
	memory  atomic.Pointer[segmentcheck.Memory]
	latency atomic.Int64 // ns
	down    atomic.Bool
	calls   atomic.Int64

	// answer replaces an answer, after the reservation.
	answer func(call int64, r numberstore.Request, got numberstore.Range, err error) (numberstore.Range, error)
}

func (s *store) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	call := s.calls.Add(1)
	if latency := time.Duration(s.latency.Load()); latency > 0 {
		select {
		case <-time.After(latency):
		case <-ctx.Done():
			return numberstore.Range{}, ctx.Err()
		}
	}
	if s.down.Load() {
		return numberstore.Range{}, errDown
	}
	got, err := s.current().Reserve(ctx, r)
	if s.answer != nil {
		return s.answer(call, r, got, err)
	}
	return got, err
}

// slow makes each answer take d.
func (s *store) slow(d time.Duration) *store {
	s.latency.Store(int64(d))
	return s
}

func (s *store) current() *segmentcheck.Memory {
	s.memory.CompareAndSwap(nil, new(segmentcheck.Memory))
	return s.memory.Load()
}

func (*store) Close() error { return nil }

func (s *store) String() string { return "faulty memory" }

// bubble runs a test beside others, with a store and a time of its own.
func bubble(t *testing.T, test func(t *testing.T, s *store)) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, new(store)) })
}

func open(t testing.TB, cfg numbers.SegmentConfig, s numbers.Store) *numbers.Segment {
	t.Helper()
	if cfg.Name == "" {
		cfg.Namespace, cfg.Name = "shop", "orders"
	}
	i, err := numbers.OpenSegment(t.Context(), s, cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i
}

func next(t testing.TB, i *numbers.Segment) int64 {
	t.Helper()
	n, err := i.Next(t.Context())
	require.NoError(t, err)
	return n
}

// batch takes n numbers at once.
func batch(t testing.TB, i *numbers.Segment, n int) []int64 {
	t.Helper()
	dst := make([]int64, n)
	require.NoError(t, i.NextIDs(t.Context(), dst))
	return dst
}

func TestMemoryKeepsTheContract(t *testing.T) {
	t.Parallel()
	m := new(segmentcheck.Memory)
	require.NoError(t, segmentcheck.Run(t.Context(), m, "shop/auto", nil))
	require.NoError(t, segmentcheck.Run(t.Context(), m, "shop/made", func(name string, start int64) error {
		return m.Create(t.Context(), name, start)
	}))
	require.NoError(t, segmentcheck.Create(t.Context(), m, "shop/admin"))
	require.NoError(t, segmentcheck.Beside(t.Context(), m))
	require.Equal(t, "memory", m.String())
}

// A nameless store has no String.
type nameless struct{ numbers.Store }
