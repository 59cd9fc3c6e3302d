package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	rediscounter "github.com/snowlease/snowlease/internal/counter"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/option"
	"github.com/snowlease/snowlease/internal/redisconn"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/testserver"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/redisseq"
)

// documented returns the commands in the line of docs/engines.md or SECURITY.md with the given beginning.
func documented(t *testing.T, begin string) (line string, commands []string) {
	t.Helper()
	for _, page := range []string{"docs/engines.md", "SECURITY.md"} {
		text, err := os.ReadFile(filepath.Join("../../..", page))
		require.NoError(t, err)
		line += regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(begin) + `.*$`).FindString(string(text))
	}
	line = strings.ReplaceAll(line, `\|`, "|") // in a table
	for _, m := range regexp.MustCompile(`\+([a-z|-]+)`).FindAllStringSubmatch(line, -1) {
		commands = append(commands, m[1])
	}
	require.NotEmpty(t, commands, begin)
	slices.Sort(commands)
	return line, commands
}

// aclUser creates the user of docs/engines.md on servers, with additional rights, and with a
// pattern for each further namespace that the tests use.
func aclUser(t *testing.T, servers []*testserver.Server, more ...string) {
	t.Helper()
	line, _ := documented(t, "ACL SETUSER orders ")
	require.Contains(t, line, " ~snowlease:{orders}:* ")
	for _, namespace := range []string{"former", "cli", "fewer", "other"} {
		line += " ~snowlease:{" + namespace + "}:*"
	}
	for _, s := range servers {
		do(t, s, commandOf(line, more...)...)
		do(t, s, "CONFIG", "RESETSTAT")
	}
}

// commandOf returns the words of a command.
func commandOf(line string, more ...string) (words []any) {
	for _, word := range append(strings.Fields(line), more...) {
		words = append(words, word)
	}
	return words
}

// used returns the commands that ran since aclUser, and those that were refused.
func used(t *testing.T, servers ...*testserver.Server) (ran, refused []string) {
	t.Helper()
	for _, s := range servers {
		c := goredis.NewClient(&goredis.Options{Addr: s.Addr()})
		stats, err := c.Info(t.Context(), "commandstats").Result()
		require.NoError(t, err)
		require.NoError(t, c.Close())
		for _, m := range regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+).*rejected_calls=(\d+)`).FindAllStringSubmatch(stats, -1) {
			switch m[1] {
			case "hello", "config|resetstat", "acl|setuser", "replconf", "psync": // connecting needs no right; the rest is of administrators
				continue
			}
			if m[2] != "0" {
				ran = append(ran, m[1])
			}
			if m[3] != "0" {
				refused = append(refused, m[1])
			}
		}
	}
	slices.Sort(ran)
	slices.Sort(refused)
	return slices.Compact(ran), slices.Compact(refused)
}

// everyVerb runs every operation that Redis supports.
func everyVerb(t *testing.T, client goredis.UniversalClient, opts ...redisseq.Option) {
	t.Helper()
	workerIDs(t, client, opts...)
	sequence(t, client, opts...)
	small(t, client, opts...)
}

func workerIDs(t *testing.T, client goredis.UniversalClient, opts ...redisseq.Option) {
	t.Helper()
	ctx := t.Context()
	c, err := redisseq.New(client, opts...)
	require.NoError(t, err)
	request := func() lease.Request {
		return lease.Request{Namespace: "orders", Layout: "l", Holder: "h", Owner: lease.NewOwner(), Pool: 2, Last: 1, TTL: time.Minute, MaxTTL: time.Minute, Skew: time.Second}
	}
	req := request()
	require.NoError(t, c.Extras().Init(ctx, req))
	require.NoError(t, c.Extras().Init(ctx, req))
	require.ErrorIs(t, c.Extras().Init(ctx, request()), lease.ErrExists)
	g, err := c.Acquire(ctx, req)
	require.NoError(t, err)
	g, err = c.Renew(ctx, g)
	require.NoError(t, err)
	second, err := c.Acquire(ctx, request())
	require.NoError(t, err)
	_, err = c.Acquire(ctx, request())
	require.ErrorAs(t, err, new(*lease.NoFreeWorkerError))
	require.NoError(t, c.Release(ctx, second, second.Now))
	_, err = c.Extras().Lister.Slots(ctx, "orders")
	require.NoError(t, err)
	_, err = c.Extras().Operator.Quarantine(ctx, "orders", "by hand")
	require.NoError(t, err)
	require.NoError(t, c.Extras().Operator.Revoke(ctx, "orders", g.Worker, g.Token))
	require.NoError(t, c.Extras().Operator.Retire(ctx, "orders", "by hand"))
}

func sequence(t *testing.T, client goredis.UniversalClient, opts ...redisseq.Option) {
	t.Helper()
	ctx := t.Context()
	seq, err := rediscounter.New(client, rediscounter.Config{Namespace: "orders", Skew: time.Millisecond}, opts...)
	require.NoError(t, err)
	defer func() { require.NoError(t, seq.Close()) }()
	require.NoError(t, seq.Start(ctx))
	_, err = seq.NextIDWait(ctx)
	require.NoError(t, err)
}

func small(t *testing.T, client goredis.UniversalClient, opts ...redisseq.Option) {
	t.Helper()
	ctx := t.Context()
	n, err := redisnumbers.New(client, option.All[redisconn.Conn](opts))
	require.NoError(t, err)
	require.NoError(t, n.Create(ctx, "orders/bills", 1))
	require.ErrorIs(t, n.Create(ctx, "orders/bills", 1), numbers.ErrExists)
	require.NoError(t, n.Advance(ctx, "orders/bills", 5))
	d, err := redisseq.Dispenser(client, n, numbers.SegmentConfig{Namespace: "orders", Name: "bills", Strict: true}, opts...)
	require.NoError(t, err)
	_, err = d.Reserve(ctx, numberstore.Request{Name: "orders/bills", N: 1, Start: 1, Max: 1 << 60})
	require.NoError(t, err)
	require.NoError(t, d.Close())
}

// The user of docs/engines.md has the rights it needs and no others.
func TestRightsOnRedis(t *testing.T) {
	t.Parallel()
	as := func(t *testing.T, addr string) *goredis.Client {
		client := goredis.NewClient(&goredis.Options{Addr: addr, Username: "orders", Password: "secret"})
		t.Cleanup(func() { _ = client.Close() })
		return client
	}
	line, base := documented(t, "ACL SETUSER orders ")
	t.Run("single", func(t *testing.T) {
		t.Parallel()
		s := testserver.NewRedis(t, kept...)
		aclUser(t, []*testserver.Server{s})
		everyVerb(t, as(t, s.Addr()))
		numbers := in(t, "--store=redis://orders:secret@"+s.Addr())
		cli := numbers.with("--namespace=cli")
		cli.ok("init --yes")
		cli.ok("workers")
		cli.ok("quarantine --yes")
		cli.ok("retire --yes")
		cli.ok("segment create --name=orders")
		all := numbers.finds("--namespace=other", "ok rights: may read and write")
		require.True(t, all.has("ok encryption: none, within this host"), all)
		ran, refused := used(t, s)
		require.Equal(t, base, ran, "what docs/engines.md lists, and what is used")
		require.Subset(t, []string{"config|get", "client|setinfo", "client|maint_notifications"}, refused)

		do(t, s, "ACL", "SETUSER", "poor", "on", ">secret", "~snowlease:*", "+ping", "+info", "+time")
		advice := ""
		for _, f := range in(t, "--store=redis://poor:secret@"+s.Addr()).examine("--namespace=orders") {
			if strings.HasPrefix(f, "fault rights: ") {
				_, advice, _ = strings.Cut(f, "SETUSER name ")
			}
		}
		require.Contains(t, advice, "~snowlease:{orders}:* +eval")
		require.Contains(t, line, advice, "what the doctor advises")

		ctx, c := t.Context(), as(t, s.Addr())
		for _, command := range []string{
			"FLUSHALL", "FLUSHDB", "SWAPDB 0 1", "SCRIPT FLUSH", "FUNCTION FLUSH", "SCAN 0", "RANDOMKEY", "KEYS *", "DEL snowlease:{orders}:meta",
			"CONFIG GET *", "ACL LIST", "MONITOR", "SHUTDOWN", "HGET orders:1 a", "HGET snowlease:{billing}:meta pin",
			"EVAL return(redis.call('HSET','snowlease:{billing}:meta','a','b')) 0", "EVAL return(redis.call('HSET','orders:1','a','b')) 0", "EVAL return(redis.call('FLUSHALL')) 0",
		} {
			err := c.Do(ctx, commandOf(command)...).Err()
			require.Error(t, err, command)
			require.Regexp(t, "NOPERM|can't run this command|can't access|no permissions", err.Error(), command)
		}
	})
	// SECURITY.md says so: no rights prevent it.
	t.Run("a script without an end", func(t *testing.T) {
		t.Parallel()
		s := testserver.NewRedis(t, "--lua-time-limit", "10")
		aclUser(t, []*testserver.Server{s})
		c := goredis.NewClient(&goredis.Options{Addr: s.Addr(), Username: "orders", Password: "secret", MaxRetries: -1, ReadTimeout: time.Minute})
		ended := make(chan error, 1)
		go func() {
			ended <- c.Eval(context.Background(), "redis.call('HSET', KEYS[1], 'a', 'b') while true do end", []string{"snowlease:{orders}:meta"}).Err()
		}()
		other := goredis.NewClient(&goredis.Options{Addr: s.Addr(), MaxRetries: -1})
		require.Eventually(t, func() bool {
			err := other.Ping(t.Context()).Err()
			return err != nil && strings.HasPrefix(err.Error(), "BUSY")
		}, 20*time.Second, 10*time.Millisecond)
		require.ErrorContains(t, other.ScriptKill(t.Context()).Err(), "UNKILLABLE")
		s.Kill()
		require.Error(t, <-ended)
		require.NoError(t, errors.Join(c.Close(), other.Close()))
	})
	for mode, run := range map[string]func(*testing.T, goredis.UniversalClient, ...redisseq.Option){
		"| mode `redis`": workerIDs, "| mode `redis-sequence`": sequence, "| numbers": small,
	} {
		t.Run(strings.Trim(mode, "| `"), func(t *testing.T) {
			t.Parallel()
			_, listed := documented(t, mode)
			s := testserver.NewRedis(t, kept...)
			aclUser(t, []*testserver.Server{s})
			run(t, as(t, s.Addr()))
			ran, _ := used(t, s)
			require.Equal(t, listed, ran, "what SECURITY.md lists, and what is used")
		})
	}
	t.Run("wait_replicas", func(t *testing.T) {
		t.Parallel()
		_, more := documented(t, "| `store.wait_replicas`")
		primary := testserver.NewRedis(t, saved...)
		testserver.NewRedisReplica(t, primary, saved...)
		aclUser(t, []*testserver.Server{primary}, append(plus(more), "+select")...)
		client := goredis.NewClient(&goredis.Options{Addr: primary.Addr(), Username: "orders", Password: "secret", DB: 1})
		t.Cleanup(func() { _ = client.Close() })
		everyVerb(t, client, redisseq.WithWaitReplicas(1, 2*time.Second))
		ran, refused := used(t, primary)
		require.Contains(t, ran, "select")
		require.Subset(t, append(more, base...), without(ran, "select"))
		require.Subset(t, ran, more)
		require.Empty(t, without(refused, "client|setinfo", "client|maint_notifications"))
	})
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		_, more := documented(t, "| Cluster")
		cluster := testserver.NewCluster(t)
		aclUser(t, cluster.Nodes, plus(more)...)
		client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: cluster.Addrs(), Username: "orders", Password: "secret"})
		defer client.Close()
		everyVerb(t, client)
		ran, refused := used(t, cluster.Nodes...)
		require.Subset(t, append(more, base...), without(ran, "select", "ping", "multi", "exec")) // those of replication
		require.Subset(t, ran, more)
		require.Empty(t, without(refused, "client|setinfo", "client|maint_notifications"))
	})
}

func plus(commands []string) (rights []string) {
	for _, c := range commands {
		rights = append(rights, "+"+c)
	}
	return rights
}

func without(list []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(some, s) })
}
