package main

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/redisseq"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const said = `^id \d+: worker \d+, made at 20.* UTC\nand 1000 more, up to \d+\n$`

func TestOnDatabase(t *testing.T) {
	t.Parallel()
	dsn := filepath.Join(t.TempDir(), "plain.db")
	for range 2 { // the second run finds the tables, and a worker id that was given back
		var out bytes.Buffer
		require.NoError(t, onDatabase(t.Context(), dsn, &out))
		require.Regexp(t, said, out.String())
	}
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	opt := &redis.Options{Addr: miniredis.RunT(t).Addr()}
	client := redis.NewClient(opt)
	defer client.Close()
	// The embedded server does not tell a run_id.
	center, err := redisseq.New(client, redisseq.WithQuarantine(redisseq.Never))
	require.NoError(t, err)
	req, err := idworker.Config{Namespace: "plain"}.Request()
	require.NoError(t, err)
	require.NoError(t, center.Init(t.Context(), req))

	var out bytes.Buffer
	require.NoError(t, onRedis(t.Context(), opt, &out, redisseq.WithQuarantine(redisseq.Never)))
	require.Regexp(t, said, out.String())
}
