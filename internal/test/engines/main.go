// Engines runs the tests on each version of each database server that can be had, and
// writes what passed into docs/design/proof.md.
//
//	go run ./internal/test/engines                  # half an hour; make engines does it
//	go run ./internal/test/engines mysql valkey     # these; the results of the others stay
//
// scripts/engines.sh unpacks current servers. The others are the machine's own.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A server is what the tests run on.
type server struct {
	engine string // for testserver
	name   string
	folder string // below .tools/engines, from scripts/engines.sh; empty: the machine's own
}

var servers = []server{
	{"mysql", "MySQL", "mysql"},
	{"mariadb", "MariaDB", "mariadb"},
	{"mariadb", "MariaDB", ""},
	{"galera", "Galera", ""},
	{"postgres", "PostgreSQL", "postgres"},
	{"postgres", "PostgreSQL", ""},
	{"sqlite", "SQLite", ""},
	{"redis", "Redis", "redis"},
	{"redis", "Redis", ""},
	{"redis", "Valkey", "valkey"},
}

// A suite is a run of go test.
type suite struct {
	name, folder string // folder: of the module
	args         []string
}

// The suites, in the order of the table's columns.
const (
	contract = "contract"
	gorm     = "GORM"
	chaos    = "chaos"
)

var columns = []string{contract, gorm, chaos}

// suites returns what runs on a server.
func (s server) suites() []suite {
	var all []suite
	add := func(name, folder string, args ...string) { all = append(all, suite{name, folder, args}) }
	switch s.engine {
	case "redis":
		add(contract, ".", "-tags", "prove", "./redisseq/...")
	case "galera":
		add(contract, ".", "-tags", "prove", "-run", "Galera", "./dbseq")
	default:
		add(contract, ".", "-tags", "prove", "./dbseq/...")
		add(gorm, ".", "-tags", "prove", "./gormplugin/...")
	}
	if s.engine != "sqlite" {
		add(chaos, "proof/chaos", "-run", "^TestChaos$/^"+s.engine+"$", ".", "-chaos.duration=1m")
	}
	return all
}

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "engines:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(servers, func(s server) bool { return strings.EqualFold(s.name, name) }) {
			return fmt.Errorf("no engine is called %q", name)
		}
	}
	root, err := os.Getwd()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var failures []error
	for _, s := range servers {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(s.name, name) }) {
			continue
		}
		r := s.run(ctx, root)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if r.Missing != "" {
			fmt.Fprintf(os.Stderr, "engines: NOT RUN: %s: %s\n", s.name, r.Missing)
		}
		if failed := r.failed(); failed != "" {
			failures = append(failures, fmt.Errorf("%s: %s", r.title(), failed))
		}
		results, err := read(root)
		if err != nil {
			return err
		}
		results.put(r)
		if err := results.write(root); err != nil { // what was run stays if a later one is interrupted
			return err
		}
	}
	return errors.Join(failures...)
}

// run runs all suites on a server.
func (s server) run(ctx context.Context, root string) Result {
	r := Result{Engine: s.name, Folder: s.folder, Date: time.Now().UTC().Format(time.DateOnly)}
	env := append(os.Environ(), "SNOWLEASE_TEST_ENGINE="+s.engine, "CI=")
	if s.folder != "" {
		folder := filepath.Join(root, ".tools", "engines", s.folder)
		get := exec.CommandContext(ctx, filepath.Join(root, "scripts", "engines.sh"), s.folder)
		get.Stdout, get.Stderr = os.Stderr, os.Stderr
		if err := get.Run(); err != nil {
			r.Missing = line(filepath.Join(folder, "unavailable"), err)
			return r
		}
		env = append(env, "PATH="+filepath.Join(folder, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	}
	for _, suite := range s.suites() {
		fmt.Fprintf(os.Stderr, "engines: %s %s: go test %s\n", s.name, s.folder, strings.Join(suite.args, " "))
		cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json", "-count=1", "-p=1", "-timeout=15m"}, suite.args...)...)
		cmd.Dir, cmd.Env = filepath.Join(root, suite.folder), env
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		start := time.Now()
		out, err := cmd.Output()
		t := parse(out)
		if s.engine == "sqlite" {
			t.server, r.Package = sqlite()
		}
		if t.server == "" && t.leftOut != "" && len(t.failed) == 0 {
			r.Missing = t.leftOut
			return r
		}
		c := t.count(s.engine)
		if err != nil && len(c.Failed) == 0 || c.Passed == 0 && len(c.Failed) == 0 {
			c.Failed = []string{"go test"}
		}
		if len(c.Failed) > 0 {
			fmt.Fprintf(os.Stderr, "%s\n%v\n", t.said(c.Failed), err)
		}
		c.Suite, c.Seconds = suite.name, int(time.Since(start).Seconds())
		fmt.Fprintf(os.Stderr, "engines: %s: %+v\n", t.server, c)
		r.Suites = append(r.Suites, c)
		if t.server != "" {
			r.Server = t.server
		}
		if t.program != "" {
			r.Package = pkg(t.program)
		}
	}
	return r
}

var unpacked = regexp.MustCompile(`^.*/\.tools/engines/[a-z]+/`)

// pkg says from which package a program is.
func pkg(program string) string {
	if folder := unpacked.FindString(program); folder != "" {
		return line(filepath.Join(folder, "version"), nil)
	}
	owner, err := exec.Command("dpkg-query", "--search", program).Output()
	if err != nil {
		return ""
	}
	name, _, _ := strings.Cut(string(owner), ":")
	version, err := exec.Command("dpkg-query", "--show", "--showformat=${Package} ${Version}", name).Output()
	if err != nil {
		return ""
	}
	release, _ := os.ReadFile("/etc/os-release")
	distribution := regexp.MustCompile(`(?m)^NAME="?(\w+)`).FindSubmatch(release)
	number := regexp.MustCompile(`(?m)^VERSION_ID="?([\d.]+)`).FindSubmatch(release)
	if distribution == nil || number == nil {
		return string(version)
	}
	return fmt.Sprintf("%s from %s %s", version, distribution[1], number[1])
}

// line returns the text of a file of one line, or says why there is none.
func line(file string, why error) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return errors.Join(why, err).Error()
	}
	return strings.TrimSpace(string(text))
}
