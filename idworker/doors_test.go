package idworker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A door is a way to ids from a center and a namespace.
type door struct {
	snowflake.Source
	next  func() (int64, error)
	close func(context.Context) error
}

var doors = map[string]func(context.Context, lease.Center, snowflake.Layout) (door, error){
	"idworker.Open": func(ctx context.Context, c lease.Center, l snowflake.Layout) (door, error) {
		w, err := idworker.Open(ctx, idworker.Config{Namespace: "orders", Layout: l}, idworker.WithCenter(c))
		if err != nil {
			return door{}, err
		}
		return door{w, w.NextID, w.Stop}, nil
	},
	"snowlease.Open": func(ctx context.Context, c lease.Center, l snowflake.Layout) (door, error) {
		w, err := snowlease.Open(ctx, c, snowlease.Config{Namespace: "orders", Layout: l})
		if err != nil {
			return door{}, err
		}
		return door{w, w.NextID, w.Stop}, nil
	},
}

// observed keeps the last request.
type observed struct {
	lease.Center
	request lease.Request
	err     error
}

func (o *observed) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if o.request = r; o.err != nil {
		return lease.Grant{}, o.err
	}
	return o.Center.Acquire(ctx, r)
}

// Both doors ask the center for the same, and pass its errors on.
func TestDoorsAgree(t *testing.T) {
	setup := errors.New("no such table")
	var requests []lease.Request
	for name, open := range doors {
		t.Run(name, func(t *testing.T) {
			center := memcenter.New()
			req, err := idworker.Config{Namespace: "orders"}.Request()
			require.NoError(t, err)
			require.NoError(t, center.Init(t.Context(), req))
			o := &observed{Center: center}
			d, err := open(t.Context(), o, snowflake.Layout{})
			require.NoError(t, err)
			ids := make([]int64, 100)
			require.NoError(t, d.NextIDs(t.Context(), ids))
			id, err := d.next()
			require.NoError(t, err)
			require.Greater(t, id, ids[99])
			require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = d.next() }))
			require.NoError(t, d.close(t.Context()))
			id, err = d.next()
			require.ErrorIs(t, err, snowlease.ErrStopped)
			require.Zero(t, id)
			o.request.Owner, o.request.Local = [16]byte{}, 0
			requests = append(requests, o.request)

			_, err = open(t.Context(), o, snowflake.Wide())
			require.ErrorAs(t, err, new(*lease.MismatchError))
			o.err = errors.Join(lease.ErrSetup, setup)
			_, err = open(t.Context(), o, snowflake.Layout{})
			require.ErrorIs(t, err, setup)
			_, err = open(t.Context(), o, snowflake.Layout{WorkerBits: 21, Epoch: -1})
			require.ErrorContains(t, err, "21")
			require.ErrorContains(t, err, "-1")
			_, err = open(t.Context(), nil, snowflake.Layout{})
			require.ErrorContains(t, err, "dbseq.Open")
		})
	}
	require.Len(t, requests, 2)
	require.Equal(t, requests[0], requests[1])
	require.NotZero(t, requests[0].Ahead)
	require.NotZero(t, requests[0].Holder)
}
