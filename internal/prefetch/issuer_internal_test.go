package prefetch

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/internal/numberstore"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errStopped = errors.New("stopped")

// open returns an Issuer that has started, of 10 numbers a reservation.
func open(t *testing.T) *Issuer {
	t.Helper()
	var last atomic.Int64
	e := New(Policy{
		Steps: numberstore.Steps{Min: 10, Max: 10, Cover: time.Second}, Step: 10, Most: 10,
		Reserve: func(_ context.Context, n, _ int64) (numberstore.Range, error) {
			end := last.Add(n)
			return numberstore.Range{First: end - n + 1, Last: end}, nil
		},
		Final:      func(err error) bool { return errors.Is(err, errStopped) },
		Retry:      time.Second,
		NotStarted: errors.New("not started"), Stopped: errStopped,
	})
	require.NoError(t, e.Start(t.Context()))
	t.Cleanup(e.Close)
	return e
}

// A caller who saw a used-up chunk before Close and goes on after it revives nothing.
func TestSlowCallerAfterClose(t *testing.T) {
	t.Parallel()
	e := open(t)
	require.NoError(t, e.Fill(t.Context(), make([]int64, 1)))
	used := e.cur.Load()
	require.NoError(t, e.Fill(t.Context(), make([]int64, 11)))
	require.NotNil(t, used.next.Load())
	e.Close()
	require.True(t, e.move(used))
	require.ErrorIs(t, e.Fill(t.Context(), make([]int64, 1)), errStopped)
	require.GreaterOrEqual(t, e.Stats().Issued, int64(12))
}

// A batch that begins while Reset runs takes nothing of what that discards.
func TestBatchDuringReset(t *testing.T) {
	t.Parallel()
	e := open(t)
	require.NoError(t, e.Fill(t.Context(), make([]int64, 1))) // has more reserved
	e.mu.Lock()
	e.copies.Add(1)
	before := e.cur.Load().base + 10
	ids, done := make([]int64, 2), make(chan error, 1)
	go func() { done <- e.Fill(t.Context(), ids) }()
	select {
	case err := <-done:
		e.mu.Unlock()
		t.Fatal("it has ended before Reset", err)
	case <-time.After(20 * time.Millisecond):
	}
	for e.move(e.cur.Load()) {
	}
	e.drop(e.cur.Load())
	e.copies.Add(1)
	e.mu.Unlock()
	require.NoError(t, <-done)
	require.Greater(t, ids[0], before)
}

// quarantine is an error that names a time to wait.
type quarantine struct{ error }

func (quarantine) Wait() time.Duration { return time.Second }

// A failure does not hide what a later call has found out.
func TestFailureOfAnEarlierCall(t *testing.T) {
	t.Parallel()
	away, closed := errors.New("connection reset"), error(quarantine{errors.New("quarantine")})
	for _, later := range []error{nil, closed} {
		var changes []error
		e := New(Policy{
			Changed: func(_ time.Time, err error) { changes = append(changes, err) },
		})
		require.ErrorIs(t, e.Call(t.Context(), func() error { return away }), away)
		require.ErrorIs(t, e.Call(t.Context(), func() error {
			require.Equal(t, later, e.Call(t.Context(), func() error { return later }))
			return away
		}), away)
		require.ErrorIs(t, e.Stats().Err, later)
		require.Equal(t, []error{away, later}, changes)
	}
}

// An answer while another one is being told is told after it.
func TestChangesAreToldInTheirOrder(t *testing.T) {
	t.Parallel()
	away := errors.New("connection reset")
	var changes []error
	e := New(Policy{})
	e.Changed = func(_ time.Time, err error) {
		if err != nil { // it takes as long as a later call
			require.NoError(t, e.Call(t.Context(), func() error { return nil }))
		}
		changes = append(changes, err)
	}
	require.ErrorIs(t, e.Call(t.Context(), func() error { return away }), away)
	require.Equal(t, []error{away, nil}, changes)
}
