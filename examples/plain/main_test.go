package main

import (
	"bytes"
	"path/filepath"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/snowlease/snowlease/redisseq"
)

func TestMain(m *testing.M) {
	// A client that cannot connect has it for up to a second after it was closed.
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9/internal/pool.(*ConnPool).tryDial"))
}

const said = `^id \d+: worker \d+, made at 20.* UTC\nand 1000 more, up to \d+\n$`

func TestOnDatabase(t *testing.T) {
	t.Parallel()
	dsn := filepath.Join(t.TempDir(), "plain.db")
	for range 2 { // the second run finds the tables, with a worker id that was given back
		var out bytes.Buffer
		require.NoError(t, onDatabase(t.Context(), dsn, &out, config))
		require.Regexp(t, said, out.String())
	}
}

func TestOnRedis(t *testing.T) {
	t.Parallel()
	opt := &redis.Options{Addr: miniredis.RunT(t).Addr()}
	var out bytes.Buffer // the embedded server has no run_id, so there is no quarantine
	require.NoError(t, onRedis(t.Context(), opt, &out, config, redisseq.WithDurable(true)))
	require.Regexp(t, said, out.String())
}

// The errors of the likeliest mistakes say what to mend.
func TestErrors(t *testing.T) {
	t.Parallel()
	dsn := filepath.Join(t.TempDir(), "none", "plain.db")
	config := config
	config.Wait = 100 * time.Millisecond
	require.ErrorContains(t, onDatabase(t.Context(), dsn, nil, config), "unable to open database file")
	err := onRedis(t.Context(), &redis.Options{Addr: "127.0.0.1:1"}, nil, config)
	require.ErrorContains(t, err, "check that the server runs, and that this host reaches it at this address")
}
