//go:build prove

package docstest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"
)

// A command is a shell command line and its output, if the page shows it.
type command struct {
	line, output string
}

func commandsOf(b block) (list []command) {
	text := continued.ReplaceAllString(b.text, " ")
	for line := range strings.Lines(text) {
		rest, prompted := strings.CutPrefix(line, "$ ")
		switch {
		case b.lang == "sh" && strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#"):
			list = append(list, command{line: strings.TrimSpace(line)})
		case b.lang == "console" && prompted:
			list = append(list, command{line: strings.TrimSpace(rest)})
		case b.lang == "console" && len(list) > 0:
			list[len(list)-1].output += line
		}
	}
	return list
}

var (
	// shellWord finds a comment, a word or an operator. Blanks and operators in quotes end no word.
	shellWord = regexp.MustCompile(`#.*|(?:'[^']*'|"[^"]*"|[^\s'"&|;<>])+|&&|\|\||;;|<<|>>|[&|;<>'"]`)
	quoted    = regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
)

// split splits a line into words. Operators are words of their own.
func split(line string) (words []string, err error) {
	for _, word := range shellWord.FindAllString(line, -1) {
		switch {
		case word == `'` || word == `"`:
			return nil, errors.New("a quote is not closed")
		case word[0] != '#':
			words = append(words, quoted.ReplaceAllString(word, "$1$2"))
		}
	}
	return words, nil
}

// A shell checks commands.
type shell struct {
	t   *testing.T
	env []string // of the current command
}

var (
	continued  = regexp.MustCompile(`\s*\\\n\s*`)
	assignment = regexp.MustCompile(`^[A-Z_]+=`)
	// foreign are programs that readers may have. They are not run.
	foreign = []string{"git", "curl", "docker", "kubectl", "redis-cli", "mysql", "psql", "cut", "sed", "grep", "systemctl", "sudo", "export", "cp", "pg_restore", "mysqldump", "!"}
)

func (s *shell) program(path string) string {
	dir, err := built()
	require.NoError(s.t, err)
	return filepath.Join(dir, path)
}

// built returns a folder with the compiled programs.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "docstest")
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+"/", "./cmd/snowlease", "./examples/fxapp", "./examples/collide")
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

func TestMain(m *testing.M) {
	_ = flag.Set("test.parallel", "8") // programs mostly wait; -parallel overrides this
	code := m.Run()
	if dir, err := built(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

func (s *shell) check(c command) error {
	words, err := split(c.line)
	if err != nil {
		return err
	}
	dir, alone := ".", true
	for len(words) > 0 {
		n := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w, "&|;") && strings.Trim(w, "&|;") == "" })
		one := words
		words = nil
		if n >= 0 {
			if one[n] == "|" {
				alone = false
			}
			one, words = one[:n], one[n+1:]
		}
		if n := slices.IndexFunc(one, func(w string) bool { return w == "<" || w == ">" || w == ">>" }); n >= 0 {
			one, alone = one[:n], false
		}
		for s.env = nil; len(one) > 0 && assignment.MatchString(one[0]); one = one[1:] {
			s.env = append(s.env, one[0])
		}
		if len(one) == 0 {
			continue
		}
		if one[0] == "cd" && len(one) == 2 {
			dir = filepath.Join(dir, one[1])
			err = isDir(dir)
		} else {
			err = s.one(dir, one, c.output, alone)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.line, err)
		}
	}
	return nil
}

func isDir(path string) error {
	if info, err := os.Stat(filepath.Join(root, path)); err != nil || !info.IsDir() {
		return fmt.Errorf("there is no folder %s", path)
	}
	return nil
}

func (s *shell) one(dir string, args []string, output string, alone bool) error {
	switch args[0] {
	case "go":
		return s.goCommand(dir, args[1:], output, alone)
	case "make":
		return target(args[1:])
	case "snowlease", "snowlease-etcd": // the same commands and flags
		return s.cli(args[1:], output, alone)
	}
	if !slices.Contains(foreign, args[0]) {
		return fmt.Errorf("program %s is unknown here", args[0])
	}
	return nil
}

func target(args []string) error {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return err
	}
	for _, arg := range args {
		name, _, assigned := strings.Cut(arg, "=")
		what := "\n" + name + ":"
		if assigned {
			what = "\n" + name + " ?="
		}
		if !strings.Contains(string(text), what) {
			return fmt.Errorf("the Makefile has no %s", name)
		}
	}
	return nil
}

func (s *shell) goCommand(dir string, args []string, output string, alone bool) error {
	if len(args) == 0 {
		return errors.New("what is go to do?")
	}
	if args[0] == "-C" && len(args) > 2 {
		dir, args = filepath.Join(dir, args[1]), args[2:]
	}
	for i, arg := range args {
		path, version, _ := strings.Cut(arg, "@")
		switch {
		case strings.HasPrefix(arg, "./"):
			if err := isDir(filepath.Join(dir, strings.TrimSuffix(arg, "/..."))); err != nil {
				return err
			}
		case path == base || strings.HasPrefix(path, base+"/"):
			if err := isDir(strings.TrimPrefix(path, base)); err != nil || args[0] == "install" && version == "" {
				return fmt.Errorf("%s: a path of this module and a version: %w", arg, err)
			}
		case arg == "-run" || arg == "-fuzz" || arg == "-bench":
			for _, name := range testFuncName.FindAllString(args[i+1], -1) {
				if list := unknownTests(page{prose: "`" + name + "*`"}); len(list) > 0 {
					return fmt.Errorf("there is no test %s", name)
				}
			}
		}
	}
	switch {
	case !slices.Contains([]string{"run", "test", "get", "install", "build", "generate", "vet", "mod"}, args[0]):
		return fmt.Errorf("go %s is unknown here", args[0])
	case args[0] == "run" && len(args) > 1 && args[1] == "./cmd/snowlease":
		return s.cli(args[2:], output, alone)
	case args[0] == "run" && len(args) > 1 && args[1] == "./examples/fxapp":
		if once := slices.Contains(args, "-once"); !once || slices.Contains(args, "-redis") || slices.Contains(args, "-dsn") {
			args = append(args, "-help")
		}
		return s.run(s.program("fxapp"), args[2:], output)
	case args[0] == "run" && len(args) > 1 && args[1] == "./examples/collide":
		return s.run(s.program("collide"), args[2:], output)
	}
	return nil
}

// cli runs commands that use no store and read no input. Of other commands it checks
// the flags.
func (s *shell) cli(args []string, output string, alone bool) error {
	pure := len(args) > 0 && slices.Contains([]string{"decode", "encode", "layout"}, args[0])
	if !pure || !alone || slices.Contains(args, "-") {
		return s.run(s.program("snowlease"), append(args, "--help"), "")
	}
	return s.run(s.program("snowlease"), args, output)
}

func (s *shell) run(bin string, args []string, output string) error {
	cmd := exec.CommandContext(limit.Context(s.t), bin, args...)
	cmd.Dir, cmd.Env = s.t.TempDir(), append(os.Environ(), s.env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, &stderr)
	}
	pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(output)), regexp.QuoteMeta("..."), ".*") // they match anything
	if pattern != "" && !regexp.MustCompile(`(?s)^`+pattern+`$`).MatchString(strings.TrimSpace(stdout.String())) {
		return fmt.Errorf("it prints\n%s", &stdout)
	}
	return nil
}

func TestShell(t *testing.T) {
	t.Parallel()
	seen := map[command]bool{}
	each(t, func(t *testing.T, b block) error {
		list := commandsOf(b)
		if len(list) == 0 {
			return errors.New("there is no command")
		}
		for _, c := range list {
			if seen[c] {
				continue
			}
			seen[c] = true
			t.Run(fmt.Sprintf("block in line %d", b.line), func(t *testing.T) {
				t.Parallel()
				require.NoError(t, (&shell{t: t}).check(c))
			})
		}
		return nil
	}, "sh", "console")
}
