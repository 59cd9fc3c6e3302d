package redisseq_test

import (
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/redisseq"
)

func TestServerThatDoesNotTellItsRunID(t *testing.T) {
	t.Parallel()
	for name, info := range map[string]map[string]string{
		"nothing":         {},
		"a run_id alone":  {"server": "redis_version:7.2.4\r\nrun_id:1\r\n", "replication": "role:master\r\n"},
		"a replid alone":  {"server": "redis_version:7.2.4\r\n", "replication": "master_replid:1\r\n"},
		"one section":     {"server": "redis_version:7.2.4\r\nrun_id:1\r\n"},
		"another section": {"replication": "master_replid:1\r\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := miniredis.RunT(t)
			m.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
				if cmd != "INFO" {
					return false
				}
				if text, ok := info[args[0]]; ok {
					c.WriteBulk(text)
				} else {
					c.WriteError("NOPERM this user has no permissions to run the 'info' command")
				}
				return true
			})
			client := redis.NewClient(&redis.Options{Addr: m.Addr()})
			t.Cleanup(func() { _ = client.Close() })
			c, err := redisseq.New(client)
			require.NoError(t, err)
			_, err = c.Acquire(t.Context(), request())
			require.ErrorIs(t, err, redisseq.ErrRunID)
			require.ErrorIs(t, c.Init(t.Context(), request()), redisseq.ErrRunID)
			s, err := redisseq.NewSequence(client, sequenceConfig())
			require.NoError(t, err)
			_, _, err = s.Reserve(t.Context(), 1)
			require.ErrorIs(t, err, redisseq.ErrRunID)
			require.Zero(t, client.DBSize(t.Context()).Val(), "nothing was written")
		})
	}
}
