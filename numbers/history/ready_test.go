package history_test

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/numbers/history"
)

// Calls return the error of Ready until there is none, whatever they are for.
func TestNotReady(t *testing.T) {
	t.Parallel()
	early := errors.New("no worker id yet")
	ready, until := early, int64(0)
	i := issuer(t, &segmentcheck.Memory{}, history.Of{Layout: layout, Reserved: 1, Ready: func() (int64, error) { return until, ready }})
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
	at := time.Now().Add(-time.Hour)
	until = at.UnixMilli() - 1
	_, err = other.NextIDAt(t.Context(), at)
	require.ErrorIs(t, err, history.ErrTime, "after the last lease, whose namespace may have been taken over")
	until = at.UnixMilli()
	_, err = other.NextIDAt(t.Context(), at)
	require.NoError(t, err)
}

// TestAfterTheLastLease: a process that was paused has no ids for times at which its namespace may have
// been taken over by another one, which leases the reserved worker ids.
func TestAfterTheLastLease(t *testing.T) {
	t.Parallel()
	c, err := dbseq.Open("sqlite", filepath.Join(t.TempDir(), "app.db"))
	require.NoError(t, err)
	defer c.Close()
	w, err := snowlease.Open(t.Context(), c, snowlease.Config{Namespace: "orders", Reserved: 1})
	require.NoError(t, err)
	defer w.Close()
	i, err := history.New(w, c.Numbers(), history.Config{})
	require.NoError(t, err)
	_, err = i.Since(t.Context())
	require.NoError(t, err)
	later := time.Now().Add(time.Hour)
	i = i.At(func() time.Time { return later }).Backfill(later)
	_, err = i.NextIDAt(t.Context(), w.Status().Ceiling.Add(time.Minute))
	require.ErrorIs(t, err, history.ErrTime)
	_, err = i.NextIDAt(t.Context(), w.Status().Ceiling)
	require.NoError(t, err)
}
