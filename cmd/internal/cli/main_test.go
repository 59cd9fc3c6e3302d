package cli

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/cmd/internal/cli/sqlredis"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/test/testserver"
)

func TestMain(m *testing.M) {
	if os.Getenv(envMain) != "" { // started by TestSignals
		Main(stuck)
	}
	logging.Disable()
	testserver.Main(m)
}

// run runs the command snowlease.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	return Run(ctx, sqlredis.Program, args, stdin, stdout, stderr)
}

// call runs the program and returns its exit code and what it printed.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

const envMain = "SNOWLEASE_TEST_MAIN"

// stuck is the command snowlease. To open the store "stuck" never ends.
var stuck = func() target.Program {
	p := sqlredis.Program
	p.Parse = func(text string) (target.Target, error) {
		if text == "stuck" {
			return endless{}, nil
		}
		return sqlredis.Program.Parse(text)
	}
	return p
}()

type endless struct{ target.Target }

func (endless) Validate() error { return nil }

func (endless) Open(context.Context, target.Options) (*target.Opened, error) {
	fmt.Fprintln(os.Stderr, "opening")
	time.Sleep(time.Hour)
	return nil, nil
}

// A signal ends what waits for input. A second one ends what the first does not.
func TestSignals(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send signals")
	}
	store := sqliteURL(t)
	initialize(t, store)
	start := func(args ...string) (cmd *exec.Cmd, errs *bufio.Reader) {
		cmd = exec.CommandContext(limit.Context(t), os.Args[0], args...)
		cmd.Env = append(os.Environ(), envMain+"=1")
		_, err := cmd.StdinPipe() // stays open
		require.NoError(t, err)
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		return cmd, bufio.NewReader(stderr)
	}
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		cmd, errs := start("retire", "--namespace=orders", "--store="+store)
		_, err := errs.ReadString('?')
		require.NoError(t, err)
		require.NoError(t, cmd.Process.Signal(sig))
		said, err := io.ReadAll(errs)
		require.NoError(t, err)
		require.Contains(t, string(said), "snowlease: interrupted, nothing changed\n")
		require.Error(t, cmd.Wait())
		require.Equal(t, exitFailed, cmd.ProcessState.ExitCode())
	}

	cmd, errs := start("workers", "--namespace=orders", "--store=stuck")
	_, err := errs.ReadString('\n')
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, errs)
		ended <- cmd.Wait()
	}()
	require.Eventually(t, func() bool {
		_ = cmd.Process.Signal(os.Interrupt)
		return len(ended) > 0
	}, 20*time.Second, 50*time.Millisecond)
	require.ErrorContains(t, <-ended, "signal: interrupt")
}

// All that reads the standard input ends with the context.
func TestInterruptedInput(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"decode", "-"}, {"inspect", "-"}, {"config", "check", "-"}} {
		ctx, cancel := context.WithCancel(t.Context())
		in, typed := io.Pipe()
		reading := reads{in, cancel}
		var out, errs bytes.Buffer
		require.Equal(t, exitFailed, run(ctx, args, reading, &out, &errs))
		require.Contains(t, errs.String(), "interrupted\n")
		require.NoError(t, typed.Close())
	}
}

// reads calls begins before each Read.
type reads struct {
	io.Reader
	begins func()
}

func (r reads) Read(p []byte) (int, error) {
	r.begins()
	return r.Reader.Read(p)
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		args  []string
		stdin string
		want  string
	}{
		{"discord", []string{"175928847299117063", "--preset", "discord"}, "", `
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
		{"base and input", []string{"--base=58", "-", "QgmVVkniES", "--preset=discord"}, "\n QgmVVkniES\r\n\n21\n", `
ID                   TIME                       WORKER  BUSINESS    SEQUENCE
175928847299117063   2016-04-30T11:18:25.796Z       32         0           7
58                   2015-01-01T00:00:00.000Z        0         0          58
175928847299117063   2016-04-30T11:18:25.796Z       32         0           7
`},
		{"json", []string{"--json", "175928847299117063", "1", "--preset=discord"}, "", `
{"id":"175928847299117063","time":"2016-04-30T11:18:25.796Z","worker":32,"business":0,"sequence":7}
{"id":"1","time":"2015-01-01T00:00:00.000Z","worker":0,"business":0,"sequence":1}
`},
		{"no layout", []string{"912050440815641783"}, "", `
ID                   TIME                       WORKER  BUSINESS    SEQUENCE
912050440815641783   2026-11-21T10:42:50.168Z        7         0        1207
In the default layout, epoch=1577808000000 unit=1ms bits=41/5/0/17; for another, give --preset or --config.
`},
		{"named default", []string{"912050440815641783", "--preset=default"}, "", `
ID                   TIME                       WORKER  BUSINESS    SEQUENCE
912050440815641783   2026-11-21T10:42:50.168Z        7         0        1207
`},
		{"json, no layout", []string{"--json", "1"}, "", `
{"id":"1","time":"2019-12-31T16:00:00.000Z","worker":0,"business":0,"sequence":1}
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
	require.Equal(t, 4, strings.Count(out, "\n"), "the header, 7, 1 and the layout")
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
	store := "--store=redis://127.0.0.1:1"
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"count"}, `unknown command "count"`},
		{[]string{"decode"}, "requires at least 1 arg"},
		{[]string{"decode", "-5"}, "unknown shorthand flag: '5' in -5"},
		{[]string{"decode", "-store=redis://:word@h"}, "unknown shorthand flag: 's': flags of more than one letter begin with two dashes"},
		{[]string{"workers", "--=redis://:word@h"}, "bad flag syntax: write --name=value"},
		{[]string{"decode", "1", "--preset=uuid"}, `layout preset "uuid" is unknown: choose default`},
		{[]string{"decode", "1", "--base=16"}, "--base: snowflake: base 16 is unknown: choose 10, 36, 58 or 62"},
		{[]string{"decode", "1", "--bits=41/5/17"}, `--bits "41/5/17" is not time/worker/business/sequence`},
		{[]string{"decode", "1", "--bits=41/5/0/17/1"}, "is not time/worker/business/sequence"},
		{[]string{"decode", "1", "--bits=41/5/0/x"}, "is not time/worker/business/sequence"},
		{[]string{"decode", "1", "--bits=41/0/0/17"}, "only the business field may have no bits"},
		{[]string{"decode", "1", "--bits=42/10/0/12"}, "bits are 64: an id has 63"},
		{[]string{"decode", "1", "--epoch=yesterday"}, `--epoch "yesterday" is neither`},
		{[]string{"decode", "1", "--epoch=0"}, `--epoch "0" is not after 1970`},
		{[]string{"decode", "1", "--unit=1us"}, "time unit 1µs"},
		{[]string{"publicid", "5"}, `required flag(s) "prefix" not set`},
		{[]string{"encode", "7"}, "snowlease encode takes no arguments"},
		{[]string{"encode", "--time=now"}, `--time "now" is neither`},
		{[]string{"encode", "--base=2"}, "base 2 is unknown"},
		{[]string{"init"}, "--store is empty"},
		{[]string{"init", store}, "--namespace is empty"},
		{[]string{"init", "--namespace=a b", store}, `namespace "a b"`},
		{[]string{"init", "--namespace=a", store, "--ttl=1m", "--max-ttl=30s"}, "lease.max_ttl 30s is not from lease.ttl (1m0s)"},
		{[]string{"init", "--namespace=a", store, "--skew=20s"}, "skew 20s"},
		{[]string{"init", "--namespace=a", store, "--bits=30/5/0/17"}, "less than a year from"},
		{[]string{"init", "--namespace=a", store, "--quarantine=often"}, `quarantine "often" is unknown`},
		{[]string{"init", "--namespace=a", store, "--config=no.yaml", "--ttl=1s"}, "leave one of them out"},
		{[]string{"init", "--config=no.yaml"}, "no.yaml"},
		{[]string{"init", "extra"}, "snowlease init takes no arguments: use flags"},
		{[]string{"workers", store}, "--namespace is empty"},
		{[]string{"workers", store, "--namespace=a", "--quarantine=x"}, `--quarantine "x" is unknown`},
		{[]string{"release", store, "--namespace=a"}, `required flag(s) "token", "worker" not set`},
		{[]string{"doctor", store, "--replicas=-1"}, "is negative"},
		{[]string{"segment", "show"}, `unknown command "show" for "snowlease segment": choose create, list, resume`},
		{[]string{"segment", store, "show"}, `See "snowlease segment --help"`},
		{[]string{"segment", "create", store, "--name=a.b", "--start=7", "--period=November"}, `--period "November" is neither a day such as 2026-11-01 nor none`},
		{[]string{"segment", "create", store, "--name=a.b", "--start=10000000000", "--period=2026-11-01"}, "--start 10000000000 is not a number of a period"},
		{[]string{"segment", "list", store, "--series="}, `--series "" is not the name of a series`},
		{[]string{"segment", "list", store, "--series=a b"}, `--series "a b" is not the name of a series`},
		{[]string{"config", "list"}, `unknown command "list" for "snowlease config": choose check, schema`},
		{[]string{"segment", "create", store}, `--name: the name ""`},
		{[]string{"segment", "create", store, "--name=a", "--start=0"}, "--start 0 is below 1"},
		{[]string{"segment", "resume", store, "--name=a"}, `required flag(s) "above" not set`},
		{[]string{"segment", "create", "invoices", store}, "snowlease segment create takes no arguments: use flags"},
		{[]string{"config", "check"}, "name the file: snowlease config check config.yaml"},
		{[]string{"config", "check", "a", "b"}, "accepts 1 arg(s), received 2"},
		{[]string{"decode", "1", "--config=no.yaml", "--preset=wide"}, "leave one of them out"},
		{[]string{"decode", "1", "--config=no.yaml"}, "no.yaml"},
		{[]string{"encode", "--key=ids"}, "--key is set without --config"},
		{[]string{"workers", store, "--namespace=a", "--key=ids"}, "--key is set without --config: name the file with --config"},
		{[]string{"segment", "create", store, "--name=a", "--key=ids"}, "--key is set without --config"},
		{[]string{"inspect"}, `give a FILE with ids, or "-" for the input`},
		{[]string{"inspect", "a", "b"}, "accepts 1 arg(s), received 2"},
		{[]string{"inspect", "-", "--source=uuid"}, "--source is unknown: choose baidu, bwmarrin, cosid, cosid-js, discord"},
		{[]string{"inspect", "-", "--source=bwmarrin"}, "give the --workers in use"},
		{[]string{"inspect", "-", "--workers=1"}, "give --source, or both --epoch and --bits"},
		{[]string{"inspect", "-", "--bits=41/10/0/12", "--workers=1"}, "give --source, or both --epoch and --bits"},
		{[]string{"inspect", "-", "--source=bwmarrin", "--workers=1-1024"}, "nor worker ids of 0-1023"},
		{[]string{"inspect", "-", "--source=bwmarrin", "--workers=a"}, "nor worker ids of 0-1023"},
		{[]string{"inspect", "-", "--bits=41/5/17"}, "is not time/worker/business/sequence"},
		{[]string{"version"}, `unknown command "version"`},
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
	code, out, _ := call(t, "", "--version")
	require.Zero(t, code)
	require.Regexp(t, `^snowlease \S+.* go1\.`, out)
	for _, args := range [][]string{{}, {"--help"}, {"decode", "--help"}, {"init", "--help"}, {"segment"}, {"config"}, {"doctor", "--help"}} {
		code, out, _ = call(t, "", args...)
		require.Zero(t, code)
		require.Contains(t, out, "Usage:")
	}
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		code, out, _ := call(t, "", "completion", shell)
		require.Zero(t, code)
		require.Contains(t, out, "snowlease")
	}
}
