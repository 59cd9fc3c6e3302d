package history_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
