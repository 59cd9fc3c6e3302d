package segment_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers/segment"
)

func TestNumbersStartWhereTheyShouldAndRiseByOne(t *testing.T) {
	t.Parallel()
	m := new(segmentcheck.Memory)
	i := open(t, segment.Config{Start: 1000, Step: 3}, m)
	for want := int64(1000); want < 1010; want++ {
		require.Equal(t, want, next(t, i))
	}
	n, err := i.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, int64(1010), n)
	require.Equal(t, []int64{1011, 1012, 1013, 1014, 1015, 1016, 1017, 1018}, batch(t, i, 8), "over several segments")
	require.Empty(t, batch(t, i, 0))
	require.Equal(t, int64(19), i.Status().Issued)

	require.NoError(t, i.Close())
	again := open(t, segment.Config{Start: 1000}, m)
	require.Greater(t, next(t, again), int64(1018), "a process that starts again goes on, with a gap")
	require.Equal(t, int64(1), next(t, open(t, segment.Config{Namespace: "shop", Name: "other"}, m)))
	require.Equal(t, int64(1), next(t, open(t, segment.Config{Namespace: "shop-staging", Name: "orders"}, m)))
}

// No number is issued twice, those of each caller ascend, and only prefetched numbers
// are left out.
func TestManyIssuersAndCallers(t *testing.T) {
	t.Parallel()
	for _, order := range []segment.Order{segment.OrderProcess, segment.OrderStrict} {
		t.Run(string(order), func(t *testing.T) {
			t.Parallel()
			const issuers, callers, rounds = 3, 4, 1000
			s := &store{answer: func(call int64, _ numberstore.Request, got numberstore.Range, err error) (numberstore.Range, error) {
				if call%40 == 3 {
					return numberstore.Range{}, errDown // the reply is lost
				}
				return got, err
			}}
			var wg sync.WaitGroup
			var mu sync.Mutex
			var all []int64
			for range issuers {
				i := open(t, segment.Config{Order: order, Step: 50, MaxStep: 400}, s)
				for c := range callers {
					wg.Go(func() {
						var got []int64
						dst := make([]int64, 1+c*7)
						for range rounds / len(dst) {
							err := i.NextIDs(t.Context(), dst)
							if err != nil {
								t.Error(err)
								return
							}
							got = append(got, dst...)
						}
						if !slices.IsSorted(got) {
							t.Error("the numbers of one caller do not ascend")
						}
						mu.Lock()
						all = append(all, got...)
						mu.Unlock()
					})
				}
			}
			wg.Wait()
			slices.Sort(all)
			require.Len(t, slices.Compact(slices.Clone(all)), len(all), "no number twice")
			require.Positive(t, all[0])
		})
	}
}

// A number requested after another was issued is greater, whoever requests it.
func TestNumbersRiseWithinAProcess(t *testing.T) {
	t.Parallel()
	i := open(t, segment.Config{Step: 5, MaxStep: 5}, new(segmentcheck.Memory))
	var mu sync.Mutex
	var last int64 // what some caller was given before the next one asks
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 5000 {
				mu.Lock()
				before := last
				mu.Unlock()
				n, err := i.Next(t.Context())
				if err != nil || n <= before {
					t.Errorf("%d after %d: %v", n, before, err)
					return
				}
				mu.Lock()
				last = max(last, n)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(20_000), last, "none is left out")
}

func TestLostRepliesSkipSegments(t *testing.T) {
	t.Parallel()
	s := &store{answer: func(call int64, _ numberstore.Request, got numberstore.Range, err error) (numberstore.Range, error) {
		if call == 2 {
			err, got = errDown, numberstore.Range{}
		}
		return got, err
	}}
	i := open(t, segment.Config{Step: 4, MaxStep: 4}, s)
	require.Equal(t, []int64{1, 2, 3, 4, 9, 10, 11, 12, 13}, batch(t, i, 9))
}

// A store that went back learns what this process knows. If it does not, its answer is
// refused. If it has lost the name, it is not created again.
func TestStoreThatWentBack(t *testing.T) {
	t.Parallel()
	for _, order := range []segment.Order{segment.OrderProcess, segment.OrderStrict} {
		s := &store{}
		i := open(t, segment.Config{Order: order, Step: 10, MaxStep: 10}, s)
		before := batch(t, i, 35)
		s.memory.Store(begun(t, "shop/orders"))
		after := batch(t, i, 35)
		require.Greater(t, after[0], before[34], order)

		s.memory.Store(new(segmentcheck.Memory))
		require.ErrorIs(t, i.NextIDs(t.Context(), make([]int64, 100)), segment.ErrUnknown, "other processes may have numbers above")

		bad := open(t, segment.Config{Namespace: "shop", Name: "bad", Order: order, Step: 10, MaxStep: 10}, forgetful{s})
		batch(t, bad, 10)
		require.Eventually(t, func() bool { // what was prefetched is issued still
			s.memory.Store(begun(t, "shop/bad"))
			_, err := bad.Next(shortly(t, 50*time.Millisecond))
			return errors.Is(err, segment.ErrStore) && errors.Is(err, segment.ErrUnavailable) && strings.Contains(err.Error(), `"shop/bad"`)
		}, 10*time.Second, time.Millisecond, order)
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
	for _, order := range []segment.Order{segment.OrderProcess, segment.OrderStrict} {
		for _, last := range []int64{25, math.MaxInt64} {
			i := open(t, segment.Config{Order: order, Start: last - 24, Max: last, Step: 10}, new(segmentcheck.Memory))
			require.Equal(t, last, batch(t, i, 25)[24])
			for range 3 {
				_, err := i.Next(t.Context())
				require.ErrorIs(t, err, segment.ErrEnd, "no wait for what will not come")
				require.NotErrorIs(t, err, segment.ErrUnavailable)
			}
			require.Equal(t, segment.StateEnded, i.Status().State)
			require.ErrorIs(t, i.Healthy(), segment.ErrEnd)
			_, err := segment.Open(t.Context(), faulty{segment.ErrEnd}, segment.Config{Namespace: "shop", Name: "orders", Start: 1, Max: 1})
			require.ErrorIs(t, err, segment.ErrEnd)
		}
	}
}

type faulty struct{ err error }

func (f faulty) Reserve(context.Context, numberstore.Request) (numberstore.Range, error) {
	return numberstore.Range{}, f.err
}

func TestUnknownName(t *testing.T) {
	t.Parallel()
	m := new(segmentcheck.Memory)
	cfg := segment.Config{Namespace: "shop", Name: "orders", Create: segment.CreateNever}
	_, err := segment.Open(t.Context(), m, cfg)
	require.ErrorIs(t, err, segment.ErrUnknown)
	require.ErrorContains(t, err, `open "shop/orders"`)
	strict := cfg
	strict.Order = segment.OrderStrict
	i := open(t, strict, m)
	_, err = i.Next(t.Context())
	require.ErrorIs(t, err, segment.ErrUnknown)
	require.Equal(t, segment.StateWaiting, i.Status().State)

	require.NoError(t, m.Create(t.Context(), "shop/orders", 50))
	require.Equal(t, int64(50), next(t, i))
	require.Equal(t, int64(51), next(t, open(t, cfg, m)))
}

// A batch that fails leaves nothing behind that could pass for a number.
func TestBatchThatFails(t *testing.T) {
	t.Parallel()
	for _, order := range []segment.Order{segment.OrderProcess, segment.OrderStrict} {
		i := open(t, segment.Config{Order: order, Max: 25, Step: 10}, new(segmentcheck.Memory))
		dst := slices.Repeat([]int64{7}, 26)
		require.ErrorIs(t, i.NextIDs(t.Context(), dst), segment.ErrEnd)
		require.Equal(t, make([]int64, 26), dst)
	}
}

// Close wakes callers who wait and ends a reservation under way.
func TestCloseWhileWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		i := open(t, segment.Config{Step: 10, MaxStep: 10}, s)
		batch(t, i, 20)
		synctest.Wait()
		s.slow(time.Hour)
		batch(t, i, 10) // the reservation hangs from here on
		errs := make(chan error)
		go func() { errs <- i.NextIDs(t.Context(), make([]int64, 30)) }()
		synctest.Wait()
		require.NoError(t, i.Close())
		require.ErrorIs(t, <-errs, segment.ErrClosed)
	})
}

func TestStatus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		i := open(t, segment.Config{Start: 500, Step: 20}, s)
		synctest.Wait()
		before := time.Now()
		require.Equal(t, segment.Status{
			State: segment.StateReady, Name: "shop/orders", Order: "process", Store: "faulty memory",
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
		require.ErrorIs(t, err, segment.ErrUnavailable)
		require.ErrorIs(t, err, errDown)
		st = i.Status()
		require.Equal(t, segment.StateWaiting, st.State)
		require.Equal(t, errDown.Error(), st.Error)
		require.Positive(t, st.Failures)
		require.Error(t, i.Healthy())
		require.ErrorIs(t, i.Healthy(), errDown)

		strict := open(t, segment.Config{Namespace: "shop", Name: "strict", Order: segment.OrderStrict}, forgetful{new(segmentcheck.Memory)})
		next(t, strict)
		st = strict.Status()
		require.Equal(t, "segment_test.forgetful", st.Store)
		require.Equal(t, int64(1), st.Issued)
		require.Equal(t, segment.StateReady, st.State)
	})
}

// An Issuer issues from its Start on, which is one, and ends by Close, whether it started
// or not.
func TestNotStarted(t *testing.T) {
	t.Parallel()
	for _, order := range []segment.Order{segment.OrderProcess, segment.OrderStrict} {
		cfg := segment.Config{Namespace: "shop", Name: "orders", Order: order}
		i, err := segment.New(&segmentcheck.Memory{}, cfg)
		require.NoError(t, err)
		ids := []int64{7}
		_, err = i.Next(t.Context())
		require.ErrorIs(t, err, segment.ErrNotStarted)
		require.ErrorIs(t, i.NextIDs(t.Context(), ids), segment.ErrNotStarted)
		require.Zero(t, ids[0])
		require.ErrorIs(t, i.Healthy(), segment.ErrNotStarted)
		require.Equal(t, segment.StateNotStarted, i.Status().State)
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
		require.Equal(t, segment.ErrClosed, err)
		require.Equal(t, segment.ErrClosed, i.NextIDs(t.Context(), make([]int64, 3)))
		require.Equal(t, segment.ErrClosed, i.Healthy())
		st := i.Status()
		require.Equal(t, segment.StateClosed, st.State)
		require.Zero(t, st.Remaining+st.Next)
		require.NoError(t, i.Start(t.Context()))
		again, err := i.Next(t.Context())
		require.NoError(t, err)
		require.Greater(t, again, n)
		require.NoError(t, i.Close())
	}
}
