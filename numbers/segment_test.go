package numbers_test

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers"
)

func TestNumbersStartWhereTheyShouldAndRiseByOne(t *testing.T) {
	t.Parallel()
	m := new(segmentcheck.Memory)
	i := open(t, numbers.SegmentConfig{Start: 1000, Step: 3}, m)
	for want := int64(1000); want <= 1010; want++ {
		require.Equal(t, want, next(t, i))
	}
	require.Equal(t, []int64{1011, 1012, 1013, 1014, 1015, 1016, 1017, 1018}, batch(t, i, 8), "over several segments")
	require.Empty(t, batch(t, i, 0))
	require.Equal(t, int64(19), i.Status().Issued)

	require.NoError(t, i.Close())
	again := open(t, numbers.SegmentConfig{Start: 1000}, m)
	require.Greater(t, next(t, again), int64(1018), "a process that starts again goes on, with a gap")
	require.Equal(t, int64(1), next(t, open(t, numbers.SegmentConfig{Namespace: "shop", Name: "other"}, m)))
	require.Equal(t, int64(1), next(t, open(t, numbers.SegmentConfig{Namespace: "shop-staging", Name: "orders"}, m)))
}

// A number requested after another was issued is greater, whoever requests it, alone or with others.
// None is left out, and none is issued twice.
func TestNumbersRiseWithinAProcess(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		i := open(t, numbers.SegmentConfig{Strict: strict, Step: 5, MaxStep: 20}, new(segmentcheck.Memory))
		var mu sync.Mutex
		var all []int64
		var last int64 // what some caller was given before the next one asks
		var wg sync.WaitGroup
		for c := range 5 {
			wg.Go(func() {
				dst := make([]int64, 1+max(0, c-2)*7)
				for range 2000 {
					mu.Lock()
					before := last
					mu.Unlock()
					if err := i.NextIDs(t.Context(), dst); err != nil || dst[0] <= before || !slices.IsSorted(dst) {
						t.Errorf("%d after %d: %v", dst, before, err)
						return
					}
					mu.Lock()
					all, last = append(all, dst...), max(last, dst[len(dst)-1])
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		slices.Sort(all)
		require.Len(t, slices.Compact(all), 2000*(1+1+1+8+15))
		require.Equal(t, int64(2000*(1+1+1+8+15)), last)
	}
}

func TestLostRepliesSkipSegments(t *testing.T) {
	t.Parallel()
	s := &store{answer: func(call int64, _ numberstore.Request, got numberstore.Range, err error) (numberstore.Range, error) {
		if call == 2 {
			err, got = errDown, numberstore.Range{}
		}
		return got, err
	}}
	i := open(t, numbers.SegmentConfig{Step: 4, MaxStep: 4}, s)
	require.Equal(t, []int64{1, 2, 3, 4, 9, 10, 11, 12, 13}, batch(t, i, 9))
}

// A store that went back learns what this process knows. If it has lost the name, it is not
// created again.
func TestStoreThatWentBack(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		s := &store{}
		i := open(t, numbers.SegmentConfig{Strict: strict, Step: 10, MaxStep: 10}, s)
		before := batch(t, i, 35)
		s.memory.Store(begun(t, "shop/orders"))
		after := batch(t, i, 35)
		require.Greater(t, after[0], before[34], strict)

		s.memory.Store(new(segmentcheck.Memory))
		require.ErrorIs(t, i.NextIDs(t.Context(), make([]int64, 100)), numbers.ErrUnknown, "other processes may have numbers above")
	}
}

// begun returns a Memory in which the name begins.
func begun(t *testing.T, name string) *segmentcheck.Memory {
	t.Helper()
	m := new(segmentcheck.Memory)
	require.NoError(t, m.Create(t.Context(), name, 1))
	return m
}

func TestEndOfTheRange(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		for _, last := range []int64{25, math.MaxInt64} {
			cfg := numbers.SegmentConfig{Strict: strict, Start: last - 24, Max: last, Step: 10}
			dst := slices.Repeat([]int64{7}, 26)
			require.ErrorIs(t, open(t, cfg, new(segmentcheck.Memory)).NextIDs(t.Context(), dst), numbers.ErrEnd)
			require.Equal(t, make([]int64, 26), dst, "nothing is left that could pass for a number")
			i := open(t, cfg, new(segmentcheck.Memory))
			require.Equal(t, last, batch(t, i, 25)[24])
			for range 3 {
				_, err := i.Next(t.Context())
				require.ErrorIs(t, err, numbers.ErrEnd, "no wait for what will not come")
				require.NotErrorIs(t, err, numbers.ErrUnavailable)
			}
			require.Equal(t, numbers.StateEnded, i.Status().State)
			require.ErrorIs(t, i.Healthy(), numbers.ErrEnd)
			_, err := numbers.OpenSegment(t.Context(), faulty{numbers.ErrEnd}, numbers.SegmentConfig{Namespace: "shop", Name: "orders", Start: 1, Max: 1})
			require.ErrorIs(t, err, numbers.ErrEnd)
		}
	}
}

type faulty struct{ err error }

func (faulty) Close() error { return nil }

func (f faulty) Reserve(context.Context, numberstore.Request) (numberstore.Range, error) {
	return numberstore.Range{}, f.err
}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	m := new(segmentcheck.Memory)
	cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders", MustExist: true}
	_, err := numbers.OpenSegment(t.Context(), m, cfg)
	require.ErrorIs(t, err, numbers.ErrUnknown)
	require.ErrorContains(t, err, `open "shop/orders"`)
	strict := cfg
	strict.Strict = true
	i := open(t, strict, m)
	_, err = i.Next(t.Context())
	require.ErrorIs(t, err, numbers.ErrUnknown)
	require.Equal(t, numbers.StateWaiting, i.Status().State)

	require.NoError(t, m.Create(t.Context(), "shop/orders", 50))
	require.Equal(t, int64(50), next(t, i))
	require.Equal(t, int64(51), next(t, open(t, cfg, m)))
}

// Close wakes callers who wait and ends a reservation under way.
func TestCloseWhileWaiting(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		i := open(t, numbers.SegmentConfig{Step: 10, MaxStep: 10}, s)
		batch(t, i, 20)
		synctest.Wait()
		s.slow(time.Hour)
		batch(t, i, 10) // the reservation hangs from here on
		errs := make(chan error)
		go func() { errs <- i.NextIDs(t.Context(), make([]int64, 30)) }()
		synctest.Wait()
		require.NoError(t, i.Close())
		require.ErrorIs(t, <-errs, numbers.ErrClosed)
	})
}

func TestStatus(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		i := open(t, numbers.SegmentConfig{Start: 500, Step: 20}, s)
		synctest.Wait()
		before := time.Now()
		require.Equal(t, numbers.Status{
			State: numbers.StateReady, Name: "shop/orders", Store: "faulty memory",
			Next: 500, Last: 539, Max: math.MaxInt64, Remaining: 40, Step: 20, Reserved: before, Reservations: 2,
		}, i.Status())
		batch(t, i, 25)
		synctest.Wait()
		st := i.Status()
		require.Equal(t, int64(25), st.Issued)
		require.Equal(t, int64(525), st.Next)
		require.Equal(t, int64(15+160), st.Remaining)
		require.Equal(t, int64(160), st.Step)
		require.Zero(t, st.Waits)

		s.down.Store(true)
		batch(t, i, 175)
		_, err := i.Next(shortly(t, time.Second))
		require.ErrorIs(t, err, numbers.ErrUnavailable)
		require.ErrorIs(t, err, errDown)
		st = i.Status()
		require.Equal(t, numbers.StateWaiting, st.State)
		require.Equal(t, errDown.Error(), st.Error)
		require.Positive(t, st.Failures)
		require.Error(t, i.Healthy())
		require.ErrorIs(t, i.Healthy(), errDown)

		strict := open(t, numbers.SegmentConfig{Namespace: "shop", Name: "strict", Strict: true}, nameless{new(segmentcheck.Memory)})
		next(t, strict)
		st = strict.Status()
		require.Equal(t, "numbers_test.nameless", st.Store)
		require.Equal(t, int64(1), st.Issued)
		require.Equal(t, numbers.StateReady, st.State)
	})
}

// An Issuer issues from its Start on, which is one, and ends by Close, whether it started
// or not.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders", Strict: strict}
		i, err := numbers.NewSegment(&segmentcheck.Memory{}, cfg)
		require.NoError(t, err)
		ids := []int64{7}
		_, err = i.Next(t.Context())
		require.ErrorIs(t, err, generator.ErrNotStarted)
		require.ErrorIs(t, i.NextIDs(t.Context(), ids), generator.ErrNotStarted)
		require.Zero(t, ids[0])
		require.ErrorIs(t, i.Healthy(), generator.ErrNotStarted)
		require.Equal(t, numbers.StateNotStarted, i.Status().State)
		require.Zero(t, i.Status().Issued)
		i.Reset()

		require.NoError(t, i.Start(t.Context()))
		n, err := i.Next(t.Context())
		require.NoError(t, err)
		require.Equal(t, int64(1), n)
		require.ErrorContains(t, i.Start(t.Context()), "it has started before")
		n, err = i.Next(t.Context())
		require.NoError(t, err, "a second start is no end")
		require.Equal(t, int64(2), n)
		require.NoError(t, i.Healthy())
		require.NoError(t, i.Close())
		require.NoError(t, i.Close())
		_, err = i.Next(t.Context())
		require.Equal(t, numbers.ErrClosed, err)
		require.Equal(t, numbers.ErrClosed, i.NextIDs(t.Context(), make([]int64, 3)))
		require.Equal(t, numbers.ErrClosed, i.Healthy())
		st := i.Status()
		require.Equal(t, numbers.StateClosed, st.State)
		require.Zero(t, st.Remaining+st.Next)
		require.NoError(t, i.Start(t.Context()))
		again, err := i.Next(t.Context())
		require.NoError(t, err)
		require.Greater(t, again, n)
		require.NoError(t, i.Close())
	}
}
