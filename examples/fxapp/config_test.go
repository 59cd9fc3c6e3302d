package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/snowlease/snowlease/numbers"
	"github.com/snowlease/snowlease/providers/redis"
)

func file(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "fxapp.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// The example file has every key, and the values that hold without it.
func TestExampleFile(t *testing.T) {
	t.Parallel()
	with, err := load([]string{"-config", "config.example.yaml"}, nil, io.Discard)
	require.NoError(t, err)
	without, err := load(nil, nil, io.Discard)
	require.NoError(t, err)
	full := func(c config) config {
		c.Providers.DB = c.Providers.DB.WithDefaults()
		if c.Providers.Redis.IsZero() {
			c.Providers.Redis = redis.Config{}
		}
		c.IDWorker = c.IDWorker.WithDefaults()
		c.IDWorker.Series = []numbers.SeriesConfig{c.IDWorker.Series[0].WithDefaults()}
		c.IDWorker.MaxAhead = max(c.IDWorker.MaxAhead, time.Second)
		c.GORMPlugin.Wait = max(c.GORMPlugin.Wait, 2*time.Second)
		if len(c.Hosts) == 0 {
			c.Hosts = nil
		}
		if len(c.IDWorker.Segments) == 0 {
			c.IDWorker.Segments = nil
		}
		if len(c.GORMPlugin.Exclude) == 0 {
			c.GORMPlugin.Exclude = nil
		}
		return c
	}
	require.Equal(t, full(without), full(with))
	with, err = load([]string{"-config", "config.example.yaml", "-mode", "redis"}, nil, io.Discard)
	require.NoError(t, err)
	require.True(t, with.Providers.Redis.IsZero(), "a Redis is embedded")

	text, err := os.ReadFile("config.example.yaml")
	require.NoError(t, err)
	whole, err := yaml.Marshal(with)
	require.NoError(t, err)
	for _, key := range regexp.MustCompile(`(?m)^[ -]*(\w+):`).FindAllStringSubmatch(string(whole), -1) {
		require.True(t, regexp.MustCompile(`(?m)^[ -]*`+key[1]+`:`).Match(text), "config.example.yaml lacks %s", key[1])
	}
}

func TestFlagsOverEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	path := file(t, `
listen: 127.0.0.1:1
log_level: debug
idworker: {lease: {ttl: 1m}, wait: 1s, layout: {worker_bits: 6}}
redis: {addrs: ["a:1"], password: word}
db: {max_open: 3}
`)
	cfg, err := load(
		[]string{"-config", path, "-wait", "3s", "-mode", "redis", "-once"},
		[]string{"FXAPP_LISTEN=127.0.0.1:2", "FXAPP_IDWORKER_WAIT=2s", "FXAPP_REDIS_ADDRS=b:1,b:2", "FXAPP_DB_MAX_OPEN=4", "OTHER=1"},
		io.Discard)
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:2", cfg.Listen)
	require.Equal(t, "DEBUG", cfg.LogLevel.String())
	require.True(t, cfg.Once)
	require.Equal(t, time.Minute, cfg.IDWorker.Lease.TTL)
	require.Equal(t, 3*time.Second, cfg.IDWorker.Wait)
	require.EqualValues(t, 6, cfg.IDWorker.Layout.WorkerBits)
	require.Equal(t, []string{"b:1", "b:2"}, cfg.Providers.Redis.Addrs)
	require.Equal(t, "word", string(cfg.Providers.Redis.Password))
	require.Equal(t, 4, cfg.Providers.DB.MaxOpen)
}

// With a secret, the ids of orders are sealed.
func TestOrderIDSecret(t *testing.T) {
	t.Parallel()
	for secret, want := range map[string]string{"": `^ord_\w{14}$`, "a secret of the tests, 32 bytes.": `^ord_\w{26}$`} {
		cfg, err := load(nil, []string{"FXAPP_ORDER_ID_SECRET=" + secret}, io.Discard)
		require.NoError(t, err)
		codec, err := cfg.orderCodec()
		require.NoError(t, err)
		text, err := codec.Encode(5)
		require.NoError(t, err)
		require.Regexp(t, want, text)
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-word"
	for _, c := range []struct {
		name, file      string
		env, args, want []string
	}{
		{name: "unknown keys", file: "idworker: {tll: 3s, TTL: 3s}\nlistn: x", want: []string{
			"fxapp.yaml: yaml: ", "line 1: field tll not found", "line 1: field TTL not found", "line 2: field listn not found",
		}},
		{name: "a value for a key", file: "mysql://app:" + secret + "@db/shop: x\nhost=db password=" + secret + ": x", want: []string{"line 1: field mysql...", "line 2: field host..."}},
		{name: "kinds", file: "listen: {}\nonce: maybe\nidworker: {lease: {ttl: soon}, sequence: {worker: x}}\ndb: sqlite\nredis: {addrs: {}, password: {a: " + secret + "}}", want: []string{
			"line 2: cannot unmarshal !!str ... into bool", "line 3: cannot unmarshal !!str ... into time.Duration",
			"line 3: cannot unmarshal !!str ... into int64", "line 4: cannot unmarshal !!str ... into", "line 5: cannot unmarshal !!map into",
		}},
		{name: "no duration", file: "idworker: {lease: {ttl: 30}}", want: []string{"line 1: cannot unmarshal !!int ... into time.Duration"}},
		{name: "values", file: "idworker: {lease: {ttl: 30ns}}", args: []string{"-mode", "foo", "-wait", "-1s"}, want: []string{
			"ttl 30ns is finer than a millisecond", `mode "foo" is unknown`, "wait -1s is negative",
		}},
		{name: "no yaml", file: "listen: [", want: []string{"fxapp.yaml: yaml: line 1"}},
		{name: "no file", args: []string{"-config", "none.yaml"}, want: []string{"none.yaml", "no such file"}},
		{name: "environment", env: []string{"FXAPP_DB_MAX_OPEN=x", "FXAPP_REDIS_PASSWORD=" + secret, "FXAPP_DB_DSN=app:" + secret + "@tcp(h)/d", "FXAPP_IDWORKER_LEASE_TTL=soon"}, want: []string{
			`"MaxOpen" of type "int"`, `"TTL" of type "time.Duration"`,
		}},
		{name: "a DSN in the place of the section", file: "db: app:" + secret + "@tcp(h)/d\nredis: redis://u:" + secret + "@h", want: []string{"line 1: cannot unmarshal !!str ... into", "line 2: cannot unmarshal !!str ... into"}},
		{name: "a URL in the place of an address", file: "idworker: {mode: redis}\nredis: {addrs: ['u:" + secret + "']}", want: []string{"redis.addrs[0] is not host:port"}},
		{name: "a DSN of another form", args: []string{"-dsn", "sqlserver://sa:" + secret + "@h/d"}, want: []string{"db.driver is empty"}},
		{name: "a DSN as driver", args: []string{"-driver", "app:" + secret + "@h/d"}, want: []string{"db.driver is a DSN"}},
		{name: "a password that begins with an asterisk", file: "redis: {password: *" + secret + " }", want: []string{"yaml: unknown ..."}},
		{name: "a password in braces", file: "redis:\n  password: {" + secret + "}", want: []string{"line 2: cannot unmarshal !!map into"}},
		{name: "no blank behind the colon", file: "redis: {password:" + secret + "}", want: []string{"line 1: field password..."}},
		{name: "a short secret", env: []string{"FXAPP_ORDER_ID_SECRET=" + secret}, want: []string{"secret 1 of prefix ord has 11 bytes: use at least 32"}},
		{name: "flag", args: []string{"-foo"}, want: []string{"not defined: -foo"}},
		{name: "flag value", args: []string{"-log-level", "loud"}, want: []string{`"LogLevel"`, "loud"}},
		{name: "argument", args: []string{"start"}, want: []string{`argument "start" is unknown`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := c.args
			if c.file != "" {
				args = append(args, "-config", file(t, c.file))
			}
			_, err := load(args, c.env, io.Discard)
			require.Error(t, err)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), secret)
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	_, err := load([]string{"-help"}, nil, &out)
	require.True(t, errors.Is(err, flag.ErrHelp))
	require.Contains(t, out.String(), "-listen host:port")
	require.NoError(t, run(t.Context(), []string{"-h"}, nil, io.Discard, io.Discard))
}
