package idworker_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/test/memcenter"
)

// TestRenewDrivesRenewals counts how often a worker renews in ten minutes, by lease.renew.
func TestRenewDrivesRenewals(t *testing.T) {
	for renew, perMinute := range map[string]int64{
		"":              6,
		"@every 1s":     60,
		"*/5 * * * * *": 12,
	} {
		t.Run(renew, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))) // the bubble begins before the epoch
				center, renewals := memcenter.New(), atomic.Int64{}
				center.Intercept(func(_ context.Context, verb string, after bool) error {
					if verb == "renew" && after {
						renewals.Add(1)
					}
					return nil
				})
				w, err := idworker.Open(t.Context(), idworker.Config{Namespace: "orders", Lease: idworker.LeaseConfig{Renew: renew}}, idworker.WithCenter(center))
				require.NoError(t, err)
				defer func() { require.NoError(t, w.Stop(context.WithoutCancel(t.Context()))) }()
				time.Sleep(time.Minute) // the lease is young, and some points are met early
				before := renewals.Load()
				time.Sleep(10 * time.Minute)
				require.InDelta(t, 10*perMinute, renewals.Load()-before, 2)
			})
		})
	}
}
