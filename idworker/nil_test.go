package idworker_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/sqlnumbers"
	"github.com/snowlease/snowlease/numbers"
)

// A nil client, center or store counts as none, also in an interface.
func TestNil(t *testing.T) {
	t.Parallel()
	cfg := idworker.Config{Namespace: "orders"}
	for _, client := range []redis.UniversalClient{nil, (*redis.Client)(nil), (*redis.ClusterClient)(nil), (*redis.Ring)(nil)} {
		_, err := idworker.NewCenter(cfg, idworker.Clients{Redis: client})
		require.ErrorContains(t, err, "that is nil counts as none")
	}
	_, err := idworker.Open(t.Context(), cfg, idworker.Clients{Center: (*dbseq.Center)(nil)})
	require.ErrorContains(t, err, "that is nil counts as none")
	for _, store := range []numbers.Store{nil, (*sqlnumbers.Store)(nil), (*redisnumbers.Store)(nil)} {
		_, err = numbers.NewSegment(store, numbers.SegmentConfig{Namespace: "shop", Name: "orders"})
		require.ErrorContains(t, err, "the store is nil")
		_, err = redisnumbers.NewDispenser(closedRedis(t), store, numbers.SegmentConfig{Namespace: "shop", Name: "orders"})
		require.ErrorContains(t, err, "nil")
	}
}
