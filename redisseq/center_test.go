package redisseq_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/redistest"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/redisseq"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	wait := redisseq.WithWaitReplicas
	for want, refused := range map[string][]redis.UniversalClient{
		"it is nil": {nil, (*redis.Client)(nil), (*redis.ClusterClient)(nil)},
		"Cluster":   {redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})},
	} {
		for _, client := range refused {
			_, err := open(t, client)
			require.ErrorIs(t, err, redisseq.ErrClient)
			require.ErrorContains(t, err, want)
			if want == "Cluster" {
				require.NoError(t, client.Close())
			}
		}
	}
	client := redis.NewClient(&redis.Options{ReadTimeout: time.Second})
	t.Cleanup(func() { _ = client.Close() })
	_, err := open(t, shrunk{client}, wait(1, time.Millisecond))
	require.ErrorIs(t, err, redisseq.ErrClient)
	require.ErrorContains(t, err, "one connection")
	for _, c := range []struct {
		option redisseq.Option
		want   string
	}{
		{redisseq.WithPrefix(""), "is n"},
		{redisseq.WithPrefix("a{b"), "is n"},
		{redisseq.WithPrefix("a b"), "is n"},
		{redisseq.WithPrefix("ü"), "is n"},
		{redisseq.WithPrefix(strings.Repeat("x", 129)), "is n"},
		{wait(-1, time.Second), "WithWaitReplicas(-1, 1s): give 0 replicas"},
		{wait(1, 0), "WithWaitReplicas(1, 0s)"},
		{wait(1, time.Microsecond), "give 0 replicas"},
		{wait(1, 2100*time.Millisecond), "WithWaitReplicas(1, 2.1s)"},
	} {
		_, err := open(t, client, c.option)
		require.ErrorContains(t, err, c.want)
	}
	_, err = open(t, nil, redisseq.WithPrefix(""), wait(-1, 0))
	require.ErrorIs(t, err, redisseq.ErrClient)
	require.ErrorContains(t, err, "prefix")
	require.ErrorContains(t, err, "WithWaitReplicas", "every fault in one error")
	for _, option := range []redisseq.Option{nil, wait(1, 2*time.Second), wait(0, 0)} {
		_, err = open(t, client, option)
		require.NoError(t, err)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	for want, client := range map[string]redis.UniversalClient{
		"redis db.example:6380 db 2":   redis.NewClient(&redis.Options{Addr: "db.example:6380", DB: 2, Username: "u", Password: "secret"}),
		"redis /run/redis.sock db 0":   redis.NewClient(&redis.Options{Network: "unix", Addr: "/run/redis.sock"}),
		"redis cluster a:1,b:2":        redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"b:2", "a:1"}, Password: "secret"}),
		"redis cluster":                redis.NewFailoverClusterClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}, Password: "secret"}),
		"redis by sentinel db 1":       redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"s:1"}, DB: 1}),
		"redis (redisseq_test.shrunk)": shrunk{redis.NewClient(&redis.Options{})},
	} {
		c, err := open(t, client)
		require.NoError(t, err)
		require.Equal(t, want, c.Extras().Name)
		if strings.Contains(want, "(") || want == "redis cluster" {
			require.Len(t, c.Extras().Warnings, 1)
			require.Contains(t, c.Extras().Warnings[0], "its pool is shared")
		} else {
			require.Empty(t, c.Extras().Warnings)
		}
		c, err = open(t, client, redisseq.WithPrefix("shop"))
		require.NoError(t, err)
		require.Equal(t, want+", keys shop:*", c.Extras().Name)
		require.NoError(t, client.Close())
	}
}

// shrunk is a client of an unknown type.
type shrunk struct{ redis.UniversalClient }

// A URL as an address does not show its password in names and errors.
func TestAddressShowsNoSecret(t *testing.T) {
	t.Parallel()
	const secret = "hunter2Geheim"
	for _, addr := range []string{
		"redis://app:" + secret + "@127.0.0.1:1/0", "app:" + secret + "@127.0.0.1:1", "app:" + secret, secret + "@h", "rediss://:" + secret + "%zz@h:1", ":" + secret + "@:1",
	} {
		for _, client := range []redis.UniversalClient{
			redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1}),
			redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{addr}, MaxRedirects: -1}),
			redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"redis://app:" + secret + "@h:1"}, MaxRetries: -1}),
		} {
			c, err := open(t, client)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			_, err = c.Acquire(ctx, request())
			cancel()
			require.Error(t, err)
			require.NotContains(t, fmt.Sprint(err, c, c.Extras().Name, c.Extras().Warnings), secret)
			require.NoError(t, client.Close())
		}
	}
}

func TestPrefix(t *testing.T) {
	t.Parallel()
	s := newMini(t, redisseq.WithPrefix("app:ids"))
	opened(t, s)
	require.EqualValues(t, 1, s.Admin.Exists(t.Context(), "app:ids:{orders}:lease").Val())
}

func TestVersions(t *testing.T) {
	t.Parallel()
	for version, old := range map[string]bool{"6.2.0": false, "7.0.15": false, "8.0": false, "255.255.255": false, "?": false, "6.0.16": true, "5.0.14": true} {
		for _, durable := range []bool{false, true} {
			s := newMini(t, redisseq.WithDurable(durable))
			s.Version.Store(version)
			_, err := s.center(t).Acquire(t.Context(), request())
			require.Equal(t, old, errors.Is(err, redisseq.ErrVersion), "%s %v: %v", version, durable, err)
		}
	}
}

func TestServerThatDoesNotTellItsRunID(t *testing.T) {
	t.Parallel()
	redistest.EachSilent(t, func(t *testing.T, client *redis.Client) {
		c, err := open(t, client)
		require.NoError(t, err)
		_, err = c.Acquire(t.Context(), request())
		require.ErrorIs(t, err, redisseq.ErrRunID)
		require.ErrorIs(t, c.Extras().Init(t.Context(), request()), redisseq.ErrRunID)
	})
}

// TestExamineNamesTheServer: a Valkey gives the version of Redis that it is compatible with
// beside its own.
func TestExamineNamesTheServer(t *testing.T) {
	t.Parallel()
	for info, want := range map[string]lease.Finding{
		"8.0.6": {Level: lease.LevelOK, Seen: "Redis 8.0.6"},
		"7.2.4\r\nserver_name:valkey\r\nvalkey_version:9.1.2": {Level: lease.LevelOK, Seen: "Valkey 9.1.2, compatible with Redis 7.2.4"},
		"6.0.16": {Level: lease.LevelFault, Seen: "Redis 6.0.16", Advice: "Redis 6.2 or later is needed"},
	} {
		s := newMini(t)
		s.Version.Store(info)
		found, err := s.center(t).Extras().Examine(t.Context(), "orders")
		require.NoError(t, err)
		want.Check = "version"
		require.Contains(t, found, want)
	}
}

func FuzzReply(f *testing.F) {
	record := strings.ReplaceAll("OK,1,run,4,4,4,,,"+request().Pin().String()+",run,,0,,", ",", "\x00")
	for _, seed := range []string{
		record, record + "\x003\x003\x000\x000|0|0|0|", record + "\x003\x00x\x000\x000|0|0|0|", record + "\x00x\x00\x00\x00", record + "\x003\x003\x000\x00|", record + "\x00",
		"OK\x000\x001\x002\x003\x004\x005", "OK\x001", "OK\x001\x0099999999999999999999", "OK\x00x\x001", "LOAD", "MORE", "NORUNID", "VERSION\x005.0", "?", "",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var list []any
		for part := range strings.SplitSeq(s, "\x00") {
			list = append(list, part)
		}
		ctx := t.Context()
		for _, reply := range []any{list, s, int64(len(s)), nil, []any{}, []any{int64(1)}} {
			c, err := open(t, redistest.Foreign{Reply: reply})
			require.NoError(t, err)
			g, err := c.Acquire(ctx, request())
			if err != nil {
				require.Zero(t, g)
			} else {
				require.Equal(t, "OK", list[0])
				require.True(t, len(list) == 7 || len(list) >= 14, "a grant, or records")
			}
			if g, err = c.Renew(ctx, lease.Grant{Request: request(), Token: 1}); err != nil {
				require.Zero(t, g)
			}
			_ = c.Release(ctx, lease.Grant{Request: request(), Token: 1}, 0)
			_ = c.Extras().Init(ctx, request())
			if slots, err := c.Extras().Lister.Slots(ctx, "orders"); err != nil {
				require.Nil(t, slots)
			}
		}
	})
}
