package idworker

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/source"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
)

var errClose = errors.New("close failed")

// watched is a center that counts its releases and closes.
type watched struct {
	lease.Center
	events *[]string
}

func (w watched) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	*w.events = append(*w.events, "release")
	return w.Center.Release(ctx, g, lastUsed)
}

func (w watched) Close() error {
	*w.events = append(*w.events, "close")
	return errClose
}

// A worker closes its own center once, after it gave the worker id back, even if the center
// is wrapped. It does not close a center that it was given.
func TestOwnedCenterIsClosedOnceAndLast(t *testing.T) {
	for _, owns := range []bool{true, false} {
		p, err := Config{Namespace: "orders"}.plan()
		require.NoError(t, err)
		memory := memcenter.New()
		require.NoError(t, snowlease.Init(t.Context(), memory, p.core))
		var events []string
		o := Clients{}.wiring()
		center := struct{ lease.Center }{watched{memory, &events}}
		var setup source.Setup[snowlease.Status]
		if owns {
			setup.Free = center.Close
		}
		b, err := p.assemble(center, setup, o)
		require.NoError(t, err)
		w := b.worker
		require.NoError(t, b.start(t.Context()))
		require.Empty(t, events)
		if err := w.Close(); owns {
			require.ErrorIs(t, err, errClose)
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, w.Close(), "the second time")
		if owns {
			require.Equal(t, []string{"release", "close"}, events)
		} else {
			require.Equal(t, []string{"release"}, events)
		}
	}
}
