package mutation_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// A build is the test binary of a list, which holds its mutants (mutant schemata: Untch,
// Offutt, Harrold, ISSTA 1993). A function begins with the body that each mutant gives it, and
// a number from the environment chooses one.
// Scripts are read from a file that the environment names. A mutant that changes something
// else is not in it and is built alone.
type build struct {
	binary  string
	numbers map[string]int // by mutant.without
}

const (
	numberVariable = "SNOWLEASE_MUTANT_NUMBER"
	scriptVariable = "SNOWLEASE_MUTANT_SCRIPT"
	insteadOf      = "SNOWLEASE_MUTANT_OF"
)

// choice is added to each package that is changed.
const choice = `
import (
	"os"
	"strconv"
)

var mutantNumber, _ = strconv.Atoi(os.Getenv("` + numberVariable + `"))

func mutated(texts ...string) []string {
	of, _ := os.ReadFile(os.Getenv("` + insteadOf + `"))
	instead, _ := os.ReadFile(os.Getenv("` + scriptVariable + `"))
	for i, text := range texts {
		if text == string(of) {
			texts[i] = string(instead)
		}
	}
	return texts
}
`

// build builds the tests of l with its mutants.
func (l list) build(t testing.TB, dir string) build {
	t.Helper()
	b := build{filepath.Join(dir, "mutants.test"), map[string]int{}}
	texts := map[string]string{}
	for _, m := range l.loaders {
		_, texts[m.file] = m.source(t)
	}
	for i, m := range l.mutants {
		if m.embedded() {
			continue
		}
		product, mutated := m.source(t)
		text := texts[m.file]
		if text == "" {
			text = product
		}
		if text, ok := withVariant(text, product, mutated, i+1); ok {
			texts[m.file], b.numbers[m.without] = text, i+1
		}
	}
	for file, text := range texts {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, text, parser.PackageClauseOnly)
		require.NoError(t, err)
		texts[filepath.Dir(file)+"/mutated.go"] = "package " + parsed.Name.Name + "\n" + choice
	}
	cmd := exec.CommandContext(limit.Compiling(t), "go", "test", "-c", "-tags=prove", "-vet=off", "-ldflags=-s -w", "-o", b.binary, overlay(t, dir, texts), ".")
	cmd.Dir = root(t, l.pkg)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return b
}

// command runs tests of the binary; m may be nil.
func (l list) command(t testing.TB, b build, m *mutant, tests string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(limit.Context(t), b.binary, "-test.run="+tests, "-test.timeout=2m", "-test.v")
	cmd.Dir, cmd.Env = root(t, l.pkg), os.Environ()
	if m == nil {
		cmd.Args = append(cmd.Args, "-test.short") // make prove runs the killers at length, too
		return cmd
	}
	cmd.Args = append(cmd.Args, "-test.failfast") // one test is enough for a kill
	if m.embedded() {
		_, text := m.source(t)
		cmd.Env = append(cmd.Env, insteadOf+"="+root(t, m.file), scriptVariable+"="+write(t, t.TempDir(), "script", text))
	} else {
		cmd.Env = append(cmd.Env, numberVariable+"="+strconv.Itoa(b.numbers[m.without]))
	}
	return cmd
}

// withVariant adds a numbered mutant to a text that was made from product by adding others.
// It returns false if the mutant changes more than bodies of functions.
func withVariant(text, product, mutated string, number int) (string, bool) {
	before, rest := functions(product)
	after, restAfter := functions(mutated)
	if before == nil || rest != restAfter {
		return "", false
	}
	now, _ := functions(text)
	for i := len(before) - 1; i >= 0; i-- { // from the end, so that offsets stay
		if before[i].body != after[i].body {
			text = now[i].choosing(text, number, after[i].body)
		}
	}
	return text, true
}

// A function is a declaration within a text.
type function struct {
	*ast.FuncDecl
	body string
}

// functions returns the functions of a file that it can copy, and the text outside of their
// bodies; nothing if the file is not Go.
func functions(text string) (all []function, rest string) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, ""
	}
	end := token.Pos(1)
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			rest += text[end-1 : f.Body.Pos()-1]
			end = f.Body.End()
			all = append(all, function{f, text[f.Body.Pos()-1 : f.Body.End()-1]})
		}
	}
	return all, rest + text[end-1:]
}

// choosing returns text with a function that begins with the other body, and its results, if
// the number says so.
func (f function) choosing(text string, number int, body string) string {
	call := "func() " + body + "(); return"
	if r := f.Type.Results; r != nil {
		call = "return func() " + text[r.Pos()-1:r.End()-1] + " " + body + "()"
	}
	begin := f.Body.Pos() // behind the brace
	return text[:begin] + fmt.Sprintf(" if mutantNumber == %d { %s }; ", number, call) + text[begin:]
}
