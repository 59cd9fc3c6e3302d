package redistest

import (
	"context"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A Hook is called for each command or pipeline of a client, which call sends.
type Hook func(cmds []redis.Cmder, call func() error) error

// DialHook changes nothing.
func (Hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook calls h.
func (h Hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		return h([]redis.Cmder{cmd}, func() error { return next(ctx, cmd) })
	}
}

// ProcessPipelineHook calls h.
func (h Hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		return h(cmds, func() error { return next(ctx, cmds) })
	}
}

// Twice returns a hook that runs each script twice and gives the second reply, as after a lost
// reply.
func Twice() Hook {
	return func(cmds []redis.Cmder, call func() error) error {
		if err := call(); err != nil || len(cmds) > 1 {
			return err
		}
		return call()
	}
}

// Shared is a client that a center does not copy, so its hooks run.
type Shared struct{ redis.UniversalClient }

// Foreign is a client whose server sends foreign replies to scripts.
type Foreign struct {
	redis.UniversalClient
	Reply any
}

// EvalSha replies.
func (f Foreign) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	cmd := redis.NewCmd(ctx)
	cmd.SetVal(f.Reply)
	return cmd
}

// EachSilent runs a test on servers that hide parts of their incarnation.
func EachSilent(t *testing.T, test func(t *testing.T, client *redis.Client)) {
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
			test(t, client)
			require.Zero(t, client.DBSize(t.Context()).Val(), "nothing was written")
		})
	}
}
