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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/cmd/internal/cli/sqlredis"
	"github.com/snowlease/snowlease/cmd/internal/cli/target"
	"github.com/snowlease/snowlease/internal/test/limit"
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

// call runs the command and returns its exit code and what it printed.
func call(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// A shell runs commands, with more arguments after those of each.
type shell struct {
	*testing.T
	more []string
}

func in(t *testing.T, more ...string) shell { return shell{t, more} }

// with returns a shell with even more arguments.
func (s shell) with(more ...string) shell { return shell{s.T, append(slices.Clip(s.more), more...)} }

// wordOf finds the words of a line. Blanks in quotes end none.
var wordOf = regexp.MustCompile(`(?:'[^']*'|\S)+`)

// exits runs a line, such as "init --yes", and requires its exit code, and texts in what it
// prints. Before a bar stands what is typed: "yes | retire". It returns all that is printed.
func (s shell) exits(code int, line string, texts ...string) (printed string) {
	s.Helper()
	typed, command, ok := strings.Cut(line, " | ")
	if typed += "\n"; !ok {
		typed, command = "", line
	}
	var args []string
	for _, word := range wordOf.FindAllString(command, -1) {
		args = append(args, strings.ReplaceAll(word, "'", ""))
	}
	got, out, errs := call(s.T, typed, append(args, s.more...)...)
	require.Equal(s, code, got, "%s: %s%s", line, out, errs)
	require.Equal(s, code != 0, strings.Contains(errs, "snowlease: "), "%s: %s", line, errs)
	for _, text := range texts {
		require.Contains(s, out+errs, text, line)
	}
	return out + errs
}

// ok requires that a line succeeds.
func (s shell) ok(line string, texts ...string) (printed string) {
	s.Helper()
	return s.exits(0, line, texts...)
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

func (endless) Open(context.Context, *target.Opened, target.Options) error {
	fmt.Fprintln(os.Stderr, "opening")
	time.Sleep(time.Hour)
	return nil
}

// A signal ends a command that waits for an answer. A second one ends what the first does not.
func TestSignals(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows cannot send signals")
	}
	store := sqliteURL(t)
	in(t, "--store="+store).ok("init --yes --namespace=orders")
	start := func(until byte, args ...string) (cmd *exec.Cmd, errs *bufio.Reader) {
		cmd = exec.CommandContext(limit.Context(t), os.Args[0], args...)
		cmd.Env = append(os.Environ(), envMain+"=1")
		_, err := cmd.StdinPipe() // stays open
		require.NoError(t, err)
		stderr, err := cmd.StderrPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		errs = bufio.NewReader(stderr)
		_, err = errs.ReadString(until)
		require.NoError(t, err)
		return cmd, errs
	}
	cmd, errs := start('?', "retire", "--namespace=orders", "--store="+store)
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM)) // not SIGINT, which a process in the background may ignore
	_, err := io.Copy(io.Discard, errs)
	require.NoError(t, err)
	require.ErrorContains(t, cmd.Wait(), "signal: terminated")
	require.NotContains(t, in(t, "--store="+store).ok("workers --namespace=orders"), "retired")

	cmd, errs = start('\n', "workers", "--namespace=orders", "--store=stuck")
	ended := make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, errs)
		ended <- cmd.Wait()
	}()
	require.Eventually(t, func() bool {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		return len(ended) > 0
	}, 20*time.Second, 50*time.Millisecond)
	require.ErrorContains(t, <-ended, "signal: terminated")
}

// decode, encode and publicid print all ids that they are given.
func TestDecode(t *testing.T) {
	t.Parallel()
	const (
		head      = "ID                   TIME                       WORKER  BUSINESS    SEQUENCE\n"
		discord   = "175928847299117063   2016-04-30T11:18:25.796Z       32         0           7\n"
		byDefault = "912050440815641783   2026-11-21T10:42:50.168Z        7         0        1207\n"
	)
	for line, want := range map[string]string{
		"decode 175928847299117063 --preset=discord":                                   head + discord,
		"decode --epoch=2019-05-05T00:00:00+08:00 --bits=41/5/5/12 1369734562062337":   head + "1369734562062337     2019-05-08T10:42:50.168Z        1         2           1\n",
		"decode --epoch=1577808000000 --unit=10ms --bits=39/8/0/16 33554433":           head + "33554433             2019-12-31T16:00:00.020Z        0         0           1\n",
		"\n 175928847299117063\r\n\n58 | decode - 175928847299117063 --preset=discord": head + discord + "58                   2015-01-01T00:00:00.000Z        0         0          58\n" + discord,
		"decode 912050440815641783":                                                    head + byDefault + "In the default layout, epoch=1577808000000 unit=1ms bits=41/5/0/17; for another, give --namespace, --preset or --config.\n",
		"decode 912050440815641783 --preset=default":                                   head + byDefault,
		"decode -":                         "",
		"decode --json 1 --preset=default": `{"id":"1","time":"2019-12-31T16:00:00.000Z","worker":0,"business":0,"sequence":1}` + "\n",
		"decode --json 175928847299117063 --preset=discord":                                `{"id":"175928847299117063","time":"2016-04-30T11:18:25.796Z","worker":32,"business":0,"sequence":7}` + "\n",
		"encode --preset=discord --time=2016-04-30T11:18:25.796Z --worker=32 --sequence=7": "175928847299117063\n",
		"encode --preset=discord --time=1462015105796 --worker=32 --sequence=7":            "175928847299117063\n",
		"cus_0saa6m2dr40006\n 31 | publicid --prefix=cus 912338055136935936 -":             "cus_0saa6m2dr40006\n912338055136935936\ncus_000000000000zv\n",
	} {
		require.Equal(t, want, in(t).ok(line), line)
	}
}

// What cannot be decoded or translated is named by its argument or line.
func TestBadIDsAreNamed(t *testing.T) {
	t.Parallel()
	printed := in(t).exits(exitFailed, "12x\n1\n\n-3\n0 | decode 7 seven - --preset=default",
		`argument 2: snowflake: parse id "seven"`, `line 1: snowflake: parse id "12x"`,
		`line 4: snowflake: parse id "-3": an id is not negative`, "line 5: snowflake: decode 0", "snowlease: 4 of 6 could not be translated")
	require.Equal(t, 8, strings.Count(printed, "\n"), "the header, 7, 1 and the errors")
	in(t).exits(exitFailed, strings.Repeat("9", 1<<17)+" | decode -", "read line 1: bufio.Scanner: token too long")
	in(t).exits(exitFailed, "cus_0saa6m2dr40007\n5 | publicid --prefix=cus x 0 9223372036854775808 "+sealedText+" -", "cus_0000000000005a\n",
		`argument 1: publicid: "x" is not an id of kind cus: it does not begin with "cus_"`, "argument 2: publicid: an id is positive, not 0",
		`argument 3: snowflake: parse id "9223372036854775808": it is above 2^63-1`, "argument 4: ", "line 1: ", "its check character does not fit",
		"snowlease: 5 of 6 could not be translated")
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk is full") }

func TestDecodeReportsLostOutput(t *testing.T) {
	t.Parallel()
	var errs bytes.Buffer
	require.Equal(t, exitFailed, run(t.Context(), []string{"decode", "912050440815641783"}, strings.NewReader(""), brokenWriter{}, &errs))
	require.Contains(t, errs.String(), "disk is full")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"count":                                        `unknown command "count" for "snowlease": choose check, `,
		"decode":                                       "requires at least 1 arg",
		"decode -5":                                    "unknown shorthand flag: '5' in -5",
		"decode -store=redis://:word@h":                "unknown shorthand flag: 's': flags of more than one letter begin with two dashes",
		"workers --=redis://:word@h":                   "bad flag syntax: write --name=value",
		"decode 1 --preset=uuid":                       `layout preset "uuid" is unknown: choose default`,
		"decode 1 --bits=41/5/17":                      `--bits "41/5/17" is not time/worker/business/sequence`,
		"decode 1 --bits=41/5/0/17/1":                  "is not time/worker/business/sequence",
		"decode 1 --bits=41/5/0/x":                     "is not time/worker/business/sequence",
		"decode 1 --bits=256/5/0/17":                   "is not time/worker/business/sequence",
		"decode 1 --bits=41/0/0/17":                    "only the business field may have no bits",
		"decode 1 --epoch=yesterday":                   `--epoch "yesterday" is neither`,
		"decode 1 --epoch=1":                           `--epoch 1 is 1970-01-01T00:00:00Z, before 2000: give Unix milliseconds, as 1000 for 1970-01-01T00:00:01Z, or a date`,
		"decode 1 --unit=1us":                          "time unit 1µs",
		"decode 1 --config=no.yaml":                    "no.yaml",
		"decode 1 --config=no.yaml --preset=a":         "leave one of them out",
		"publicid 5":                                   `required flag(s) "prefix" not set`,
		"encode 7":                                     "snowlease encode takes no arguments",
		"encode --epoch=0 --time=1577808000":           `--time 1577808000 is 1970-01-19T06:16:48Z, before 2000: give Unix milliseconds, as 1577808000000 for 2019-12-31T16:00:00Z, or a date`,
		"encode --time=now":                            `--time "now" is neither`,
		"encode --key=ids":                             "--key is set without --config",
		"check":                                        "accepts 1 arg(s), received 0",
		"segment show":                                 `unknown command "show" for "snowlease segment": choose `,
		"inspect":                                      "accepts 1 arg(s), received 0",
		"inspect -":                                    "give --source, or both --epoch and --bits",
		"inspect - --source=uuid":                      "the source is unknown: choose baidu, bwmarrin, cosid, cosid-js, default, discord",
		"inspect - --source=bwmarrin":                  "give the --workers in use",
		"inspect - --bits=41/10/0/12":                  "give --source, or both --epoch and --bits",
		"inspect - --bits=41/5/17":                     "is not time/worker/business/sequence",
		"inspect - --source=bwmarrin --workers=1-1024": "is not worker ids of 0-1023",
		"inspect - --source=bwmarrin --workers=a":      "is not worker ids of 0-1023",
		"init": "--store is empty",
	} {
		requireUsage(t, in(t), line, want)
	}
	store := in(t, "--store=redis://127.0.0.1:1")
	for line, want := range map[string]string{
		"init":                   "--namespace is empty",
		"init extra":             "snowlease init takes no arguments: use flags",
		"init --namespace='a b'": `namespace "a b"`,

		"init --namespace=a --ttl=1m --max-ttl=30s":   "lease.max_ttl 30s is not from lease.ttl (1m0s)",
		"init --namespace=a --skew=20s":               "skew 20s",
		"init --namespace=a --bits=30/5/0/17":         "less than a year from",
		"workers":                                     "--namespace is empty",
		"workers --namespace=a --key=ids":             "--key is set without --config: name the file with --config",
		"release --namespace=a":                       `required flag(s) "token", "worker" not set`,
		"doctor --replicas=-1":                        `invalid argument "-1" for "--replicas" flag`,
		"segment create invoices":                     "snowlease segment create takes no arguments: use flags",
		"segment create":                              `--name "" is not the name of a sequence`,
		"segment create --name=a --start=0":           "--start 0 is below 1",
		"segment create --name=a.b --period=November": `--period "November" is neither a day such as 2026-11-01 nor none`,

		"segment create --name=a.b --start=10000000000 --period=2026-11-01":  "--start 10000000000 is not a number of a period",
		"segment create --name=a.b --start=43":                               "may be of a series: add --period, the first day of the period of --start 43",
		"segment advance --name=a.b --above=42":                              "may be of a series: add --period, the first day of the period of --above 42",
		"segment create --name=a --period=2026-11-01":                        "or a. without a scope",
		"segment advance --name=a":                                           `required flag(s) "above" not set`,
		"segment advance --namespace=a --name=a --above=9223372036854775807": "--above 9223372036854775807 leaves no number",
		"segment list --series=":                                             `--series "" is not the name of a series`,
		"segment list --series='a b'":                                        `--series "a b" is not the name of a series`,
	} {
		requireUsage(t, store, line, want)
	}
}

// requireUsage requires that a line is refused, and nothing but an error is printed.
func requireUsage(t *testing.T, s shell, line, want string) {
	t.Helper()
	printed := s.exits(exitUsage, line, want, `--help"`)
	require.True(t, strings.HasPrefix(printed, "snowlease: "), printed)
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^snowlease \S+.* go1\.`, in(t).ok("--version"))
	for _, line := range []string{"", "decode --help", "init --help", "segment", "doctor --help"} {
		in(t).ok(line, "Usage:")
	}
}
