package redisseq_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease"
	"github.com/snowlease/snowlease/internal/generator"
	"github.com/snowlease/snowlease/internal/keeper"
	"github.com/snowlease/snowlease/internal/redisnumbers"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/internal/test/segmentcheck"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/snowflake"
)

// user gives the user app its rights and password, and ends its connections.
func user(t *testing.T, s *store, rules ...any) {
	t.Helper()
	require.NoError(t, s.Admin.Do(t.Context(), append([]any{"ACL", "SETUSER", "app", "reset", "on"}, rules...)...).Err())
	require.NoError(t, s.Admin.Do(t.Context(), "CLIENT", "KILL", "USER", "app").Err())
}

// TestStartFailsAtOnce: a login that is refused, missing rights, and a closed client end a
// start at once. The error says what to do.
func TestStartFailsAtOnce(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	login, grant := "check the user name and the password", "grant the user the commands and the keys snowlease:{NAME}:*"
	for name, c := range map[string]struct {
		user, password string
		rules          []any
		want           string
	}{
		"password": {"app", "geheim", []any{">right", "~*", "+@all"}, login},
		"no login": {"", "", []any{">right", "~*", "+@all"}, login},
		"user":     {"apps", "geheim", []any{">right", "~*", "+@all"}, login},
		"disabled": {"app", "geheim", []any{">geheim", "~*", "+@all", "off"}, login},
		"keys":     {"app", "geheim", []any{">geheim", "~other:*", "+@all"}, grant},
		"scripts":  {"app", "geheim", []any{">geheim", "~*", "+@all", "-eval", "-evalsha"}, grant},
		"commands": {"app", "geheim", []any{">geheim", "~*", "+@all", "-hget", "-hmget", "-hset"}, grant},
	} {
		user(t, s, c.rules...)
		if name == "no login" {
			require.NoError(t, s.Admin.ConfigSet(t.Context(), "requirepass", "geheim").Err())
		}
		client := redis.NewClient(&redis.Options{Addr: s.Addr, Username: c.user, Password: c.password})
		center, err := open(t, client)
		require.NoError(t, err)
		// A start that tries again would do so for an hour.
		_, err = snowlease.Open(t.Context(), center, snowlease.Config{Namespace: "orders", Wait: time.Hour})
		require.ErrorIs(t, err, lease.ErrSetup, name)
		require.ErrorContains(t, err, c.want, name)
		require.NotContains(t, err.Error(), "geheim", name)
		store, err := redisnumbers.New(client)
		require.NoError(t, err)
		for _, strict := range []bool{false, true} {
			cfg := numbers.SegmentConfig{Namespace: "shop", Name: "orders", Strict: strict}
			dispenser, err := redisnumbers.NewDispenser(client, new(segmentcheck.Memory), cfg)
			require.NoError(t, err)
			for _, s := range []numbers.Store{store, dispenser} {
				_, err := numbers.OpenSegment(t.Context(), s, cfg)
				require.ErrorIs(t, err, lease.ErrSetup, name)
				require.ErrorContains(t, err, c.want, name)
			}
			require.NoError(t, dispenser.Close())
		}
		require.NoError(t, store.Close())
		require.NoError(t, client.Close())
		center, err = open(t, shrunk{client})
		require.NoError(t, err)
		_, err = snowlease.Open(t.Context(), center, snowlease.Config{Namespace: "orders", Wait: time.Hour})
		require.ErrorIs(t, err, redis.ErrClosed, name)
		require.ErrorIs(t, err, lease.ErrSetup, name)
		require.ErrorContains(t, err, "close it after the last one")
		if name == "no login" {
			require.NoError(t, s.Admin.ConfigSet(t.Context(), "requirepass", "").Err())
		}
	}
}

// TestPasswordWrongForAWhile: only a start ends by it. A keeper that holds a worker id
// renews it once the password is right again.
func TestPasswordWrongForAWhile(t *testing.T) {
	t.Parallel()
	s := newReal(t)
	user(t, s, ">right", "~*", "+@all")
	client := redis.NewClient(&redis.Options{Addr: s.Addr, Username: "app", Password: "right"})
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	c, err := open(t, client)
	require.NoError(t, err)
	g := generator.New(snowflake.Layout{})
	req := memcenter.NewRequest("orders", g.Layout())
	req.TTL, req.Skew, req.Owner = 3*time.Second, time.Second, lease.NewOwner()
	require.NoError(t, c.Extras().Init(t.Context(), req))
	k := keeper.New(keeper.Config{Center: c, Generator: g, Request: req})
	require.NoError(t, k.Start(t.Context()))
	until := func(what string, is func(keeper.Status) bool) {
		require.Eventually(t, func() bool { return is(k.Status()) }, time.Minute, 10*time.Millisecond, what)
	}
	user(t, s, ">other", "~*", "+@all")
	until("refused", func(s keeper.Status) bool {
		return errors.Is(s.Err, lease.ErrSetup) && strings.Contains(s.Err.Error(), "check the user name and the password")
	})
	user(t, s, ">right", "~*", "+@all")
	until("renewed", func(s keeper.Status) bool { return s.Err == nil && s.State == keeper.Holding })
	require.NoError(t, k.Stop(t.Context()))
}
