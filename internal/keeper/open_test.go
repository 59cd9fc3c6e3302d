package keeper_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/test/logtest"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// wordy is a center with a warning.
type wordy struct{ lease.Center }

func (w wordy) Extras() lease.Extras {
	x := w.Center.Extras()
	x.Warnings = []string{"it is wordy"}
	return x
}

// Open needs a center and a namespace. A namespace that is new makes it wait, and no more.
func TestOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)))
		var log logtest.Journal
		center := memcenter.New()
		k, err := keeper.Open(t.Context(), keeper.Config{
			Center: wordy{center}, Namespace: "orders", Logger: slog.New(slog.NewTextHandler(&log, nil)),
		})
		require.NoError(t, err)
		// Also if the test fails, since a bubble cannot end before its goroutines.
		defer func() { _ = k.Stop(context.Background()) }()
		require.Contains(t, log.String(), "it is wordy")
		first, err := k.NextID()
		require.NoError(t, err)
		ids := make([]int64, 3)
		require.NoError(t, k.NextIDs(t.Context(), ids))
		last, err := k.NextIDWait(t.Context())
		require.NoError(t, err)
		require.IsIncreasing(t, []int64{first, ids[0], ids[1], ids[2], last})

		holder := func() string {
			slots, err := center.Extras().Lister.Slots(t.Context(), "orders")
			require.NoError(t, err)
			return slots[k.Status().Grant.Worker].Holder
		}
		require.Equal(t, keeper.DefaultHolder(), holder())
		require.NoError(t, k.Stop(t.Context()))
		require.Empty(t, holder(), "given back")
		id, err := k.NextID()
		require.ErrorIs(t, err, generator.ErrStopped)
		require.Zero(t, id)
	})
}

func TestOpenReportsEveryFault(t *testing.T) {
	bad := snowflake.Layout{Epoch: -1, WorkerBits: 21}
	_, err := keeper.Open(t.Context(), keeper.Config{Layout: bad, Wait: -1})
	for _, want := range []string{"Center is nil", `namespace ""`, "epoch -1", "worker bits 21", "Wait -1ns"} {
		require.ErrorContains(t, err, want)
	}
	_, err = keeper.Open(t.Context(), keeper.Config{Center: (*memcenter.Center)(nil), Namespace: "orders"})
	require.ErrorContains(t, err, "Center is nil")

	gen, err := generator.New(snowflake.Wide())
	require.NoError(t, err)
	_, err = keeper.Open(t.Context(), keeper.Config{
		Center: memcenter.New(), Namespace: "orders", Layout: snowflake.Wide(), Generator: gen, Request: request(),
	})
	for _, want := range []string{"Layout and Generator", `Namespace "orders" and Request`} {
		require.ErrorContains(t, err, want)
	}
}

// The layout is that of the generator, and the request asks for all of its worker ids.
func TestOpenFillsInARequestForTheGenerator(t *testing.T) {
	gen, err := generator.New(snowflake.Wide())
	require.NoError(t, err)
	for _, cfg := range []keeper.Config{{Generator: gen}, {Layout: snowflake.Wide()}} {
		center := memcenter.New()
		req := keeper.NewRequest("orders", snowflake.Wide())
		req.Owner = lease.NewOwner()
		require.NoError(t, center.Init(t.Context(), req)) // pins the layout and the pool
		cfg.Center, cfg.Namespace = center, "orders"
		k, err := keeper.Open(t.Context(), cfg)
		require.NoError(t, err)
		_, err = k.NextID()
		require.NoError(t, err)
		require.NoError(t, k.Stop(t.Context()))
	}
}

// An open that fails leaves nothing behind; TestMain looks for goroutines.
func TestOpenFails(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		defer r.down()()
		_, err := keeper.Open(t.Context(), keeper.Config{Center: r.center, Namespace: "orders"})
		require.ErrorContains(t, err, "connection refused")
		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("gone")
		cancel(gone)
		_, err = keeper.Open(ctx, keeper.Config{Center: r.center, Namespace: "orders"})
		require.ErrorIs(t, err, gone)
	})
}

// Without a lease, the errors of ids name the cause.
func TestErrorsOfIdsNameTheCause(t *testing.T) {
	bubble(t, func(t *testing.T, r *rig) {
		id, err := r.keeper.NextID()
		require.ErrorIs(t, err, generator.ErrNotStarted)
		require.ErrorIs(t, r.keeper.Err(), generator.ErrNotStarted)
		require.Zero(t, id)
		r.start()
		require.NoError(t, r.keeper.Err())
		defer r.down()()
		time.Sleep(time.Minute)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, one := r.keeper.NextID()
		_, waited := r.keeper.NextIDWait(ctx)
		require.Equal(t, keeper.Holding, r.keeper.Status().State)
		for _, err := range []error{one, waited, r.keeper.NextIDs(ctx, make([]int64, 2)), r.keeper.Err()} {
			require.ErrorIs(t, err, generator.ErrLeaseExpired)
			require.Regexp(t, `^lease: last renewed 2026-11-20T12:00:\d\d(\.\d+)?Z, renewals have failed since 2026-11-20T12:00:\d\d(\.\d+)?Z: .*connection refused: snowflake: lease expired: its range is used up and not renewed yet`, err.Error())
		}
	})
}
