package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/dbseq"
	"github.com/snowlease/snowlease/idworker"
	"github.com/snowlease/snowlease/idworker/lease"
	"github.com/snowlease/snowlease/internal/testserver"
	"github.com/snowlease/snowlease/providers"
	"github.com/snowlease/snowlease/providers/redis"
	"github.com/snowlease/snowlease/providers/sqldb"
	"github.com/snowlease/snowlease/redisseq"
)

func TestMain(m *testing.M) { testserver.Main(m) }

// call runs the program and returns its exit code and what it printed.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		stdin string
		want  string
	}{
		{"discord", []string{"175928847299117063", "--layout", "discord"}, "", `
ID                   TIME                       WORKER  BUSINESS    SEQUENCE
175928847299117063   2016-04-30T11:18:25.796Z       32         0           7
`},
		{"own layout", []string{"--epoch=2019-05-05T00:00:00+08:00", "--bits=41/5/5/12", "1369734562062337"}, "", `
ID                   TIME                       WORKER  BUSINESS    SEQUENCE
1369734562062337     2019-05-08T10:42:50.168Z        1         2           1
`},
		{"epoch in ms, unit", []string{"--epoch=1577808000000", "--unit=10ms", "--bits=39/8/0/16", "33554433"}, "", `
ID                   TIME                       WORKER  BUSINESS    SEQUENCE
33554433             2019-12-31T16:00:00.020Z        0         0           1
`},
		{"base and input", []string{"--base=58", "-", "QgmVVkniES", "--layout=discord"}, "\n QgmVVkniES\r\n\n21\n", `
ID                   TIME                       WORKER  BUSINESS    SEQUENCE
175928847299117063   2016-04-30T11:18:25.796Z       32         0           7
58                   2015-01-01T00:00:00.000Z        0         0          58
175928847299117063   2016-04-30T11:18:25.796Z       32         0           7
`},
		{"json", []string{"--json", "175928847299117063", "1", "--layout=discord"}, "", `
{"id":"175928847299117063","time":"2016-04-30T11:18:25.796Z","worker":32,"business":0,"sequence":7}
{"id":"1","time":"2015-01-01T00:00:00.000Z","worker":0,"business":0,"sequence":1}
`},
		{"no input", []string{"-"}, "", "\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := call(t, c.stdin, append([]string{"decode"}, c.args...)...)
			require.Zero(t, code, errs)
			require.Equal(t, strings.TrimPrefix(c.want, "\n"), out)
			require.Empty(t, errs)
		})
	}
}

func TestDecodeNamesWhatIsBad(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "12x\n1\n\n-3\n0\n", "decode", "7", "seven", "-")
	require.Equal(t, exitFailed, code)
	require.Equal(t, 3, strings.Count(out, "\n"), "the header, 7 and 1")
	for _, want := range []string{
		`argument 2: snowflake: parse id "seven" in base 10`, `line 1: snowflake: parse id "12x"`,
		`line 4: snowflake: parse id "-3" in base 10: an id is not negative`, "line 5: snowflake: decode 0",
		"snowlease: 4 of 6 ids could not be decoded",
	} {
		require.Contains(t, errs, want)
	}
	code, _, errs = call(t, strings.Repeat("9", 1<<17), "decode", "-")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "read line 1: bufio.Scanner: token too long")
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestDecodeReportsLostOutput(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	code := run(t.Context(), []string{"decode", "7"}, strings.NewReader(""), brokenWriter{}, &errs)
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs.String(), "disk is full")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"encode"}, `unknown command "encode"`},
		{[]string{"decode"}, "requires at least 1 arg"},
		{[]string{"decode", "-5"}, "unknown shorthand flag"},
		{[]string{"decode", "1", "--layout=uuid"}, `layout preset "uuid" is unknown: choose default`},
		{[]string{"decode", "1", "--base=16"}, "--base: snowflake: base 16 is unknown: choose 10, 36, 58 or 62"},
		{[]string{"decode", "1", "--bits=41/5/17"}, `--bits "41/5/17" is not time/worker/business/sequence`},
		{[]string{"decode", "1", "--bits=41/5/0/17/1"}, "is not time/worker/business/sequence"},
		{[]string{"decode", "1", "--bits=41/5/0/x"}, "is not time/worker/business/sequence"},
		{[]string{"decode", "1", "--bits=41/0/0/17"}, "only the business field may have no bits"},
		{[]string{"decode", "1", "--bits=42/10/0/12"}, "bits are 64: an id has 63"},
		{[]string{"decode", "1", "--epoch=yesterday"}, `--epoch "yesterday" is neither`},
		{[]string{"decode", "1", "--epoch=0"}, `--epoch "0" is not after 1970`},
		{[]string{"decode", "1", "--unit=1us"}, "time unit 1µs"},
		{[]string{"init"}, "namespace is empty"},
		{[]string{"init", "--namespace=a"}, `--mode "" is neither db nor redis`},
		{[]string{"init", "--namespace=a", "--mode=db"}, "db.driver is empty"},
		{[]string{"init", "--namespace=a", "--mode=redis"}, "redis.addrs is empty"},
		{[]string{"init", "--namespace=a", "--mode=redis", "--ttl=1m", "--max-ttl=30s"}, "max_ttl 30s is not from ttl (1m0s)"},
		{[]string{"init", "--namespace=a", "--mode=redis", "--skew=20s"}, "skew 20s"},
		{[]string{"init", "--namespace=a", "--mode=redis", "--bits=30/5/0/17"}, "less than a year from now"},
		{[]string{"init", "--namespace=a", "--mode=local"}, "is neither db nor redis"},
		{[]string{"init", "--namespace=a", "--mode=auto"}, `--mode "auto" is neither db nor redis`},
		{[]string{"init", "--namespace=a", "--mode=db", "--quarantine=often"}, `quarantine "often" is unknown`},
		{[]string{"init", "extra"}, `unknown command "extra"`},
		{[]string{"version", "extra"}, `unknown command "extra"`},
	} {
		code, out, errs := call(t, "", c.args...)
		require.Equal(t, exitUsage, code, "%v: %s", c.args, errs)
		require.Contains(t, errs, c.want)
		require.Contains(t, errs, `--help"`)
		require.Empty(t, out)
	}
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	code, out, _ := call(t, "", "version")
	require.Zero(t, code)
	require.Regexp(t, `^snowlease \S+.* go1\.`, out)
	for _, args := range [][]string{{}, {"--help"}, {"decode", "--help"}, {"init", "--help"}} {
		code, out, _ = call(t, "", args...)
		require.Zero(t, code)
		require.Contains(t, out, "Usage:")
	}
}

// A namespace that init has opened lends at once to who has the same configuration,
// and is not opened again.
func TestInit(t *testing.T) {
	t.Parallel()
	fake := miniredis.RunT(t)
	for name, c := range map[string]struct {
		args   []string
		center func(*testing.T) lease.Center
	}{
		"miniredis": {[]string{"--mode=redis", "--addr=" + fake.Addr(), "--quarantine=never"}, redisCenter(fake.Addr(), redisseq.WithQuarantine(redisseq.Never))},
		"sqlite":    dbCase("sqlite", filepath.Join(t.TempDir(), "a.db")),
		"redis":     {},
		"mysql":     {},
		"postgres":  {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			switch name {
			case "redis":
				addr := testserver.Redis(t)
				c.args, c.center = []string{"--mode=redis", "--addr=" + addr}, redisCenter(addr)
			case "mysql":
				c = dbCase(name, testserver.MySQL(t))
			case "postgres":
				c = dbCase(name, testserver.Postgres(t))
			}
			for _, ns := range []string{"first", "second"} {
				ns = "cmd-" + name + "-" + ns
				args := append([]string{"init", "--namespace=" + ns}, c.args...)
				code, out, errs := call(t, "", args...)
				require.Zero(t, code, errs)
				require.Contains(t, out, `namespace "`+ns+`" is open at `)
				require.Contains(t, out, "layout={epoch=1577808000000 unit=1ms bits=41/5/0/17} pool=32 max_ttl=30s skew=2s")

				center := c.center(t)
				r, err := idworker.Config{Namespace: ns}.Request() // of an application with the defaults
				require.NoError(t, err)
				g, err := center.Acquire(t.Context(), r)
				require.NoError(t, err)

				code, out, errs = call(t, "", args...)
				require.Equal(t, exitExists, code)
				require.Contains(t, errs, "exists already")
				require.Contains(t, errs, "nothing was changed")
				require.Empty(t, out)
				require.NoError(t, center.Release(t.Context(), g, g.Floor))
			}
		})
	}
}

type initCase = struct {
	args   []string
	center func(*testing.T) lease.Center
}

func dbCase(driver, dsn string) initCase {
	return initCase{[]string{"--mode=db", "--driver=" + driver, "--dsn=" + dsn}, func(t *testing.T) lease.Center {
		db, err := sqldb.Open(t.Context(), sqldb.Config{Driver: driver, DSN: dsn}, nil, providers.Drivers()...)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, sqldb.Close(db)) })
		center, err := dbseq.New(db)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, center.Close()) })
		return center
	}}
}

func redisCenter(addr string, options ...redisseq.Option) func(*testing.T) lease.Center {
	return func(t *testing.T) lease.Center {
		client, err := redis.Open(t.Context(), redis.Config{Addrs: []string{addr}})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, client.Close()) })
		center, err := redisseq.New(client, options...)
		require.NoError(t, err)
		return center
	}
}

func TestInitFails(t *testing.T) {
	t.Parallel()
	code, out, errs := call(t, "", "init", "--namespace=a", "--mode=redis", "--addr=127.0.0.1:1", "--password=s3cret", "--timeout=200ms")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "redis at 127.0.0.1:1: cannot connect")
	require.NotContains(t, errs, "s3cret")
	require.Empty(t, out)
	code, _, errs = call(t, "", "init", "--namespace=a", "--mode=db", "--driver=mysql", "--dsn=app:s3cret@tcp(127.0.0.1:1)/app")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "mysql at 127.0.0.1:1/app: cannot connect")
	require.NotContains(t, errs, "s3cret")
	for _, args := range [][]string{
		{"--mode=db", "--driver=sqlite", "--dsn=" + filepath.Join(t.TempDir(), "a.db"), "--prefix=Bad Prefix"},
		{"--mode=redis", "--addr=" + miniredis.RunT(t).Addr(), "--prefix={x}"},
	} {
		code, _, errs = call(t, "", append([]string{"init", "--namespace=a"}, args...)...)
		require.Equal(t, exitFailed, code, errs)
		require.NotEmpty(t, errs)
	}
}

// Secrets come from the environment, and no help shows them.
func TestInitReadsTheEnvironment(t *testing.T) {
	srv := miniredis.RunT(t)
	srv.RequireAuth("s3cret")
	t.Setenv(envPassword, "s3cret")
	t.Setenv(envDSN, filepath.Join(t.TempDir(), "a.db"))
	code, _, errs := call(t, "", "init", "--namespace=a", "--mode=redis", "--addr="+srv.Addr(), "--quarantine=never")
	require.Zero(t, code, errs)
	code, _, errs = call(t, "", "init", "--namespace=a", "--mode=db", "--driver=sqlite")
	require.Zero(t, code, errs)
	_, out, _ := call(t, "", "init", "--help")
	require.NotContains(t, out, "s3cret")
	require.NotContains(t, out, "a.db")
}

func TestJSONIsValid(t *testing.T) {
	t.Parallel()
	_, out, _ := call(t, "", "decode", "--json", "1")
	require.True(t, json.Valid([]byte(out)))
}
