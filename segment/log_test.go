package segment_test

import (
	"bytes"
	"context"
	"log/slog"
	"regexp"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/segment"
)

const (
	failing = `level=WARN msg="segment store failing" segment=orders store="faulty memory" err="the store is down"`
	answers = `level=INFO msg="segment store answers again" segment=orders store="faulty memory"`
)

// openLogged also returns a function that returns the lines logged since its last call.
func openLogged(t *testing.T, cfg segment.Config, s segment.Store) (*segment.Issuer, func() []string) {
	t.Helper()
	cfg.Name = "orders"
	var out bytes.Buffer
	i, err := segment.Open(t.Context(), cfg, s, segment.WithLogger(slog.New(slog.NewTextHandler(&out, nil))))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, i.Close()) })
	return i, func() []string {
		synctest.Wait()
		text := out.String()
		out.Reset()
		return regexp.MustCompile(`level=.*`).FindAllString(text, -1)
	}
}

// Each change is one line, however many attempts and calls fail.
func TestOneLinePerChange(t *testing.T) {
	t.Parallel()
	for _, order := range []string{segment.OrderProcess, segment.OrderStrict} {
		t.Run(order, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := &store{}
				i, lines := openLogged(t, segment.Config{Order: order, Step: 4, MaxStep: 4}, s)
				batch(t, i, 20)
				require.Empty(t, lines())
				for range 2 {
					s.down.Store(true)
					for range 50 {
						_, _ = i.NextID()
						time.Sleep(time.Second)
					}
					require.Equal(t, []string{failing}, lines())
					s.down.Store(false)
					time.Sleep(3 * time.Second)
					batch(t, i, 20)
					require.Equal(t, []string{answers}, lines())
				}
				require.NoError(t, i.Close())
				_, err := i.NextID()
				require.ErrorIs(t, err, segment.ErrClosed)
				require.Empty(t, lines())
			})
		})
	}
}

// A caller or a Close that does not wait for the store is not logged; a NextID that
// waited for Config.Wait is.
func TestImpatienceIsNotLogged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &store{}
		i, lines := openLogged(t, segment.Config{Order: segment.OrderStrict, Wait: time.Second}, s)
		s.slow(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := i.NextIDWait(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Empty(t, lines(), "the store may be well")
		_, err = i.NextID()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		got := lines()
		require.Len(t, got, 1, "it is slower than Config.Wait")
		require.Contains(t, got[0], "segment store failing")
		batch(t, i, 1)
		require.Equal(t, []string{answers}, lines())

		s.slow(0)
		prefetching, lines := openLogged(t, segment.Config{Step: 4, MaxStep: 4}, s)
		synctest.Wait()
		s.slow(4 * time.Second)
		batch(t, prefetching, 5)
		require.NoError(t, prefetching.Close(), "while it asks")
		require.Empty(t, lines())
	})
}

func TestNoLogger(t *testing.T) {
	t.Parallel()
	s := &store{answer: func(call int64, _ segment.Request, got segment.Range, err error) (segment.Range, error) {
		if call == 1 {
			return segment.Range{}, errDown
		}
		return got, err
	}}
	i, err := segment.Open(t.Context(), segment.Config{Name: "orders"}, s, segment.WithLogger(nil))
	require.NoError(t, err)
	require.NoError(t, i.Close())
}
