package numbers_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/numbers"
)

const (
	failing = `level=WARN msg="segment store failing" segment=shop/orders store="faulty memory" failing_since=%s err="the store is down"`
	answers = `level=INFO msg="segment store answers again" segment=shop/orders store="faulty memory"`
)

// openLogged also returns a function that returns the lines logged since its last call.
func openLogged(t *testing.T, cfg numbers.SegmentConfig, s numbers.Store) (*numbers.Segment, func() []string) {
	t.Helper()
	var out bytes.Buffer
	cfg.Logger = slog.New(slog.NewTextHandler(&out, nil))
	return open(t, cfg, s), func() []string {
		synctest.Wait()
		text := out.String()
		out.Reset()
		return regexp.MustCompile(`level=.*`).FindAllString(text, -1)
	}
}

// Each change is one line, however many attempts and calls fail, and another one each 30 s
// without numbers.
func TestOneLinePerChange(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint(strict), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *store) {
				i, lines := openLogged(t, numbers.SegmentConfig{Strict: strict, Step: 4, MaxStep: 4}, s)
				batch(t, i, 20)
				require.Empty(t, lines())
				for range 2 {
					s.down.Store(true)
					for range 25 {
						_, _ = i.Next(shortly(t, time.Second))
						time.Sleep(time.Second)
					}
					since := i.Status().FailingSince.Format("2006-01-02T15:04:05.000Z07:00")
					require.Equal(t, slices.Repeat([]string{fmt.Sprintf(failing, since)}, 2), lines())
					s.down.Store(false)
					time.Sleep(3 * time.Second)
					batch(t, i, 20)
					require.Equal(t, []string{answers}, lines())
				}
				require.NoError(t, i.Close())
				_, err := i.Next(t.Context())
				require.ErrorIs(t, err, numbers.ErrClosed)
				require.Empty(t, lines())
			})
		})
	}
}

// A caller or a Close that hardly waits for the store is not logged; a caller that waited for a
// second is.
func TestImpatienceIsNotLogged(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		i, lines := openLogged(t, numbers.SegmentConfig{Strict: true}, s)
		s.slow(2 * time.Second)
		_, err := i.Next(shortly(t, 900*time.Millisecond))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, lines(), "the store may be well")
		_, err = i.Next(shortly(t, time.Second))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got := lines()
		require.Len(t, got, 1, "it is slow")
		require.Contains(t, got[0], "segment store failing")
		batch(t, i, 1)
		require.Equal(t, []string{answers}, lines())

		s.slow(0)
		prefetching, lines := openLogged(t, numbers.SegmentConfig{Step: 4, MaxStep: 4}, s)
		synctest.Wait()
		s.slow(4 * time.Second)
		batch(t, prefetching, 5)
		require.NoError(t, prefetching.Close(), "while it asks")
		require.Empty(t, lines())
	})
}

// FailingSince is when the first attempt after the last success began, whatever its error.
func TestFailingSince(t *testing.T) {
	t.Parallel()
	for _, strict := range []bool{false, true} {
		t.Run(fmt.Sprint(strict), func(t *testing.T) {
			bubble(t, func(t *testing.T, s *store) {
				i := open(t, numbers.SegmentConfig{Namespace: "shop", Name: "orders", Strict: strict, Step: 4, MaxStep: 4, Cover: time.Hour}, s)
				batch(t, i, 4)
				synctest.Wait()
				require.Zero(t, i.Status().FailingSince)

				s.slow(time.Hour) // each attempt hangs until it is given up
				time.Sleep(time.Minute)
				began := time.Now()
				for range 20 {
					_, _ = i.Next(shortly(t, time.Second))
					time.Sleep(time.Second)
				}
				synctest.Wait()
				st := i.Status()
				require.WithinDuration(t, began, st.FailingSince, 0, "when the attempt began, not when it failed")
				require.Greater(t, st.Failures, int64(1))

				s.slow(0)
				time.Sleep(10 * time.Second)
				batch(t, i, 1)
				require.Zero(t, i.Status().FailingSince)
				s.down.Store(true)
				again := time.Now()
				_ = i.NextIDs(shortly(t, time.Second), make([]int64, 9))
				require.WithinDuration(t, again, i.Status().FailingSince, 0)
				require.NoError(t, i.Close())
				require.Zero(t, i.Status().FailingSince, "it needs no more numbers")
			})
		})
	}
}

func shortly(t *testing.T, wait time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), wait)
	t.Cleanup(cancel)
	return ctx
}

// In strict order only calls ask the store. A Segment that is not ready may get none, so it
// is ready again after a while, except at the end.
func TestStrictIsReadyAgain(t *testing.T) {
	bubble(t, func(t *testing.T, s *store) {
		i := open(t, numbers.SegmentConfig{Strict: true, Max: 1}, s)
		s.down.Store(true)
		for range 3 {
			began := time.Now()
			_, err := i.Next(shortly(t, time.Second))
			require.ErrorIs(t, err, errDown)
			time.Sleep(9 * time.Second)
			require.ErrorIs(t, i.Healthy(), errDown)
			require.Equal(t, numbers.StateWaiting, i.Status().State)
			time.Sleep(2 * time.Second)
			require.NoError(t, i.Healthy())
			require.False(t, i.Status().FailingSince.After(began), "it has not succeeded")
		}
		s.down.Store(false)
		next(t, i)
		_, err := i.Next(t.Context())
		require.ErrorIs(t, err, numbers.ErrEnd)
		time.Sleep(time.Hour)
		require.ErrorIs(t, i.Healthy(), numbers.ErrEnd)
		require.Equal(t, numbers.StateEnded, i.Status().State)
	})
}
