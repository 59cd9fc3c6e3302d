package main

import (
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/segment"

	"github.com/snowlease/snowlease/idworker"
)

func write(t *testing.T, text string) string {
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
		c.IDWorker = c.IDWorker.WithDefaults()
		c.IDWorker.Segments = []segment.Config{c.IDWorker.Segments[0].WithDefaults()}
		c.IDWorker.MaxAhead = max(c.IDWorker.MaxAhead, time.Second)
		c.GORMPlugin.Scope = max(c.GORMPlugin.Scope, "all")
		c.GORMPlugin.Wait = max(c.GORMPlugin.Wait, 2*time.Second)
		if len(c.GORMPlugin.Exclude) == 0 {
			c.GORMPlugin.Exclude = nil
		}
		return c
	}
	require.Equal(t, full(without), full(with))
	with, err = load([]string{"-config", "config.example.yaml", "-mode", "redis"}, nil, io.Discard)
	require.NoError(t, err)
	require.True(t, with.embedsRedis())

	text, err := os.ReadFile("config.example.yaml")
	require.NoError(t, err)
	for key := range keysOf(config{}) {
		parts := strings.Split(key, ".")
		require.Regexp(t, `(?m)^ *`+parts[len(parts)-1]+`: `, string(text))
	}
}

func TestFlagsOverEnvironmentOverFile(t *testing.T) {
	t.Parallel()
	path := write(t, `
listen: 127.0.0.1:1
log_level: debug
idworker: {ttl: 1m, wait: 1s, layout: {worker_bits: 6}}
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
	require.Equal(t, time.Minute, cfg.IDWorker.TTL)
	require.Equal(t, 3*time.Second, cfg.IDWorker.Wait)
	require.EqualValues(t, 6, cfg.IDWorker.Layout.WorkerBits)
	require.Equal(t, []string{"b:1", "b:2"}, cfg.Providers.Redis.Addrs)
	require.Equal(t, "word", string(cfg.Providers.Redis.Password))
	require.Equal(t, 4, cfg.Providers.DB.MaxOpen)
	require.False(t, cfg.embedsRedis())
}

func TestModes(t *testing.T) {
	t.Parallel()
	cfg, err := load([]string{"-redis", "127.0.0.1:1"}, nil, io.Discard)
	require.NoError(t, err)
	require.Equal(t, idworker.ModeDB, cfg.IDWorker.Mode)
	require.True(t, cfg.Providers.Redis.IsZero(), "not connected to in mode db")
	require.False(t, cfg.embedsRedis())
	for dsn, driver := range map[string]string{
		"shop.db": "sqlite", "file:shop.db?mode=rwc": "sqlite", ":memory:": "sqlite",
		"app:word@tcp(db:3306)/shop": "mysql", "app@unix(/run/mysqld.sock)/shop": "mysql", "app@/shop": "mysql",
		"postgres://app@db/shop": "postgres", "postgresql://db/shop": "postgres", "user=u password=word": "postgres", "host=db dbname=shop": "postgres",
	} {
		cfg, err := load([]string{"-dsn", dsn}, nil, io.Discard)
		require.NoError(t, err)
		require.Equal(t, driver, cfg.Providers.DB.Driver, dsn)
		if driver != "sqlite" {
			require.Equal(t, driver, cfg.database())
		}
	}
}

func TestBadConfig(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-word"
	for _, c := range []struct {
		name string
		file string
		env  []string
		args []string
		want []string
	}{
		{name: "unknown keys", file: "idworker: {tll: 3s, TTL: 3s}\nlistn: x", want: []string{
			"fxapp.yaml: key idworker.tll: is unknown", "fxapp.yaml: key idworker.TTL: is unknown", "fxapp.yaml: key listn: is unknown",
		}},
		{name: "kinds", file: "listen: 8080\nlog_level: loud\nonce: maybe\nidworker: {ttl: soon, worker: x}\ndb: sqlite\nredis: {addrs: [1], password: {a: " + secret + "}}", want: []string{
			`fxapp.yaml: key listen: value "8080": expected type 'string'`, `fxapp.yaml: key log_level: value "loud": `,
			`fxapp.yaml: key once: value "maybe": expected type 'bool'`, `fxapp.yaml: key idworker.ttl: value "soon": `,
			`fxapp.yaml: key idworker.worker: value "x": expected type 'int64'`, `fxapp.yaml: key db: expected a map`,
			"fxapp.yaml: key redis.addrs[0]: expected type", "fxapp.yaml: key redis.password: expected type",
		}},
		{name: "values", file: "idworker: {ttl: 30}", args: []string{"-listen", "nowhere", "-mode", "foo", "-wait", "-1s"}, want: []string{
			"ttl 30ns is too short", `mode "foo" is unknown`, "wait -1s is negative", `listen "nowhere" is not host:port`,
			"set were: idworker.mode by flag -mode, idworker.ttl by file ", "fxapp.yaml, idworker.wait by flag -wait, listen by flag -listen",
		}},
		{name: "no yaml", file: "listen: [", want: []string{"fxapp.yaml: cannot be read: yaml: line 1"}},
		{name: "no mapping", file: "[1]", want: []string{"fxapp.yaml: cannot be read: yaml: "}},
		{name: "no file", args: []string{"-config", "none.yaml"}, want: []string{"file none.yaml: cannot be read: ", "no such file"}},
		{name: "environment", env: []string{"FXAPP_FOO=1", "FXAPP_DB_MAX_OPEN=x", "FXAPP_REDIS_PASSWORD=" + secret, "FXAPP_DB_DSN=app:" + secret + "@tcp(h)/d", "FXAPP_IDWORKER_TTL="}, want: []string{
			"environment variable FXAPP_FOO: is no setting", `environment variable FXAPP_DB_MAX_OPEN: key db.max_open: cannot parse`,
			`environment variable FXAPP_IDWORKER_TTL: key idworker.ttl: value "": `,
		}},
		{name: "a DSN in the place of the section", file: "db: app:" + secret + "@tcp(h)/d\nredis: redis://u:" + secret + "@h", want: []string{"key db: expected a map", "key redis: expected a map"}},
		{name: "a URL in the place of an address", file: "idworker: {mode: redis}\nredis: {addrs: ['u:" + secret + "']}", want: []string{"redis.addrs[0] is not host:port"}},
		{name: "a DSN of another form", args: []string{"-dsn", "sqlserver://sa:" + secret + "@h/d"}, want: []string{"db.driver is empty"}},
		{name: "a DSN without a protocol", args: []string{"-dsn", "app:" + secret + "@h/d"}, want: []string{"db.driver is empty"}},
		{name: "a DSN without a host", env: []string{"FXAPP_DB_DSN=app:" + secret + "/d"}, want: []string{"db.driver is empty"}},
		{name: "a setting of no database", args: []string{"-dsn", "user=u pass=" + secret}, want: []string{"db.driver is empty"}},
		{name: "a DSN as driver", args: []string{"-driver", "app:" + secret + "@h/d"}, want: []string{"db.driver is a DSN"}},
		{name: "a password that begins with an asterisk", file: "redis: {password: *" + secret + " }", want: []string{"cannot be read: yaml: unknown ..."}},
		{name: "a password in braces", file: "redis:\n  password: {" + secret + "}", want: []string{"key redis.password.***: is unknown"}},
		{name: "no blank behind the colon", file: "redis: {password:" + secret + "}", want: []string{"key redis.password***: is unknown"}},
		{name: "no mapping but a text", file: secret, want: []string{"cannot be read: yaml: "}},
		{name: "flag", args: []string{"-foo"}, want: []string{"not defined: -foo: see -help"}},
		{name: "flag value", args: []string{"-log-level", "loud"}, want: []string{`flag -log-level: key log_level: value "loud": `}},
		{name: "argument", args: []string{"start"}, want: []string{`argument "start" is not known`}},
		{name: "local", args: []string{"-mode", "local"}, env: []string{"FXAPP_IDWORKER_LOCAL_SOURCES=mac"}, want: []string{`source "mac" is unknown`}},
		{name: "driver", args: []string{"-driver", "", "-dsn", " "}, want: []string{"db.dsn is empty"}},
		{name: "sentinel without addresses", args: []string{"-mode", "redis", "-redis-master", "main"}, want: []string{"redis.addrs is empty"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			args := c.args
			if c.file != "" {
				args = append(args, "-config", write(t, c.file))
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
	require.Zero(t, run(t.Context(), []string{"-h"}, nil, io.Discard, io.Discard))
}
