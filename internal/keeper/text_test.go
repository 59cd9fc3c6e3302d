package keeper_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/lease"
)

// A slow error takes long to tell its text.
type slow struct {
	error
	told *atomic.Int64
}

func (s slow) Error() string {
	s.told.Add(1)
	return s.error.Error()
}

func (s slow) Unwrap() error { return s.error }

type failing struct {
	lease.Center
	err error
}

func (f *failing) Renew(ctx context.Context, g lease.Grant) (lease.Grant, error) {
	return lease.Grant{}, f.err
}

func TestStatusTellsTheTextOfAnErrorOnce(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		var told atomic.Int64
		r.member(func(cfg *keeper.Config) { cfg.Center = &failing{r.center, slow{lease.ErrDamaged, &told}} })
		r.start()
		time.Sleep(15 * time.Second)
		before := told.Load()
		require.Positive(t, before)
		for range 10 {
			err := r.keeper.Status().Err
			require.ErrorIs(t, err, lease.ErrDamaged)
			require.ErrorContains(t, err, lease.ErrDamaged.Error())
		}
		require.Equal(t, before, told.Load())
	})
}
