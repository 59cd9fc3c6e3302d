package idworker_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/fx"
	"go.uber.org/fx/fxtest"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/snowflake"
)

var business = snowflake.Layout{WorkerBits: 5, BusinessBits: 5, SequenceBits: 12}

func TestBusinessNumbers(t *testing.T) {
	var w *idworker.IdWorker
	cfg := idworker.Config{Namespace: "orders", Layout: business, Business: 1}
	a := fxtest.New(t, fx.NopLogger, fx.Supply(newSQLite(t, cfg), cfg),
		idworker.Module, fx.Populate(&w))
	refunds, err := w.For(2) // before the start
	require.NoError(t, err)
	_, err = refunds.NextID()
	require.ErrorIs(t, err, snowlease.ErrNotStarted)
	a.RequireStart()
	number := func(id int64, err error) int64 {
		t.Helper()
		require.NoError(t, err)
		p, err := w.Decode(id)
		require.NoError(t, err)
		require.Equal(t, w.Status().Worker, p.Worker)
		return p.Business
	}
	require.Equal(t, int64(1), number(w.NextID()))
	require.Equal(t, int64(2), number(refunds.NextID()))
	require.Equal(t, int64(2), number(refunds.NextIDWait(t.Context())))
	last, err := w.For(31)
	require.NoError(t, err)
	require.Equal(t, int64(31), number(last.NextID()))
	ids := make([]int64, 5)
	require.NoError(t, refunds.NextIDs(t.Context(), ids))
	require.Equal(t, int64(2), number(ids[4], nil))
	require.Equal(t, int64(1), w.Status().Business)
	require.Equal(t, int64(9), w.Status().Issued, "they share a sequence")

	_, err = w.For(32)
	require.ErrorContains(t, err, "0 to 31")
	require.ErrorContains(t, err, "raise business_bits")
	_, err = w.For(-1)
	require.ErrorContains(t, err, "0 to 31")
	a.RequireStop()
	id, err := refunds.NextID()
	require.ErrorIs(t, err, snowlease.ErrStopped)
	require.Zero(t, id)

	err = idworker.Config{Namespace: "orders", Business: 1}.Validate()
	require.ErrorContains(t, err, "business 1 is not 0 to 0")
}
