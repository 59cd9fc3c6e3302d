package idworker_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/hostseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/numbers/history"
	"github.com/snowlease/snowlease/numbers/redissegments"
	"github.com/snowlease/snowlease/numbers/segment"
	"github.com/snowlease/snowlease/redisseq"
	"github.com/snowlease/snowlease/snowflake"
)

// A nil Option is ignored, and a nil store is an error, also in an interface.
func TestNil(t *testing.T) {
	t.Parallel()
	layout := snowflake.Layout{}.WithDefaults()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	t.Cleanup(func() { _ = client.Close() })

	_, err := generator.New(layout, nil)
	require.NoError(t, err)
	_, err = hostseq.New(hostseq.Config{Dir: t.TempDir()}, layout, nil)
	require.NoError(t, err)
	_, err = redisseq.New(client, nil)
	require.NoError(t, err)
	_, err = redissegments.New(client, nil)
	require.NoError(t, err)
	_, err = counter.New(client, counter.Config{Namespace: "orders"}, nil)
	require.NoError(t, err)
	_, err = dbseq.Open("none", "", nil)
	require.Error(t, err)
	_, err = idworker.Open(t.Context(), idworker.Config{}, nil)
	require.Error(t, err)
	_, err = idworker.NewCenter(idworker.Config{}, nil)
	require.Error(t, err)

	for _, store := range []segment.Store{nil, (*dbseq.Segments)(nil), (*redissegments.Store)(nil)} {
		_, err = segment.New(store, segment.Config{Name: "orders"}, nil)
		require.ErrorContains(t, err, "the store is nil")
		_, err = history.New(store, history.Config{Namespace: "orders", Reserved: 1})
		require.ErrorContains(t, err, "the store is nil")
		_, err = redissegments.NewDispenser(client, store, segment.Config{Name: "orders"}, nil)
		require.ErrorContains(t, err, "nil")
	}
}
