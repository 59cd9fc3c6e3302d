package mutation_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/internal/test/limit"
)

// A build is the test binary of a list, which holds its mutants (mutant schemata: Untch,
// Offutt, Harrold, ISSTA 1993). A function begins with the body that each mutant gives it, and
// a number from the environment chooses one.
// Scripts are read from a file that the environment names.
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
		texts[m.file], b.numbers[m.without] = withVariant(t, text, product, mutated, i+1), i+1
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
func withVariant(t testing.TB, text, product, mutated string, number int) string {
	t.Helper()
	text, product, mutated = asFunctions(text), asFunctions(product), asFunctions(mutated)
	before, rest := functions(product)
	after, restAfter := functions(mutated)
	require.Equal(t, rest, restAfter, "a mutant changes bodies of functions and values of variables only")
	now, _ := functions(text)
	for i := len(before) - 1; i >= 0; i-- { // from the end, so that offsets stay
		if before[i].body != after[i].body {
			text = now[i].choosing(text, number, after[i].body)
		}
	}
	return text
}

// A function is a declaration within a text, or what returns the value of a variable.
type function struct {
	*ast.FuncType
	*ast.BlockStmt
	body string
}

// functions returns the functions of a file, and the text outside of their bodies.
func functions(text string) (all []function, rest string) {
	end := token.Pos(1)
	for _, d := range declarations(text) {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
			all = append(all, function{f.Type, f.Body, ""})
		}
		for _, v := range values(d) {
			if call, ok := v.(*ast.CallExpr); ok {
				if f, ok := call.Fun.(*ast.FuncLit); ok {
					all = append(all, function{f.Type, f.Body, ""})
				}
			}
		}
	}
	for i, f := range all {
		all[i].body = text[f.Lbrace-1 : f.Rbrace]
		rest += text[end-1 : f.Lbrace-1]
		end = f.Rbrace + 1
	}
	return all, rest + text[end-1:]
}

func declarations(text string) []ast.Decl {
	file, _ := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution) // or the build fails
	return file.Decls
}

// values returns the values of the variables that d declares.
func values(d ast.Decl) (all []ast.Expr) {
	if vars, ok := d.(*ast.GenDecl); ok && vars.Tok == token.VAR {
		for _, s := range vars.Specs {
			all = append(all, s.(*ast.ValueSpec).Values...)
		}
	}
	return all
}

// asFunctions lets functions return the values of variables whose types are evident.
func asFunctions(text string) string {
	for _, d := range slices.Backward(declarations(text)) {
		for _, v := range slices.Backward(values(d)) {
			typ := ""
			if c, ok := v.(*ast.CompositeLit); ok {
				typ = text[c.Type.Pos()-1 : c.Type.End()-1]
			} else if strings.HasPrefix(text[v.Pos()-1:], "`") {
				typ = "string"
			}
			if typ != "" && !strings.HasPrefix(typ, "[...") {
				text = text[:v.Pos()-1] + "func() " + typ + " { return " + text[v.Pos()-1:v.End()-1] + " }()" + text[v.End()-1:]
			}
		}
	}
	return text
}

// choosing returns text with a function that begins with the other body, and its results, if
// the number says so.
func (f function) choosing(text string, number int, body string) string {
	call := "func() " + body + "(); return"
	if r := f.Results; r != nil {
		call = "return func() " + text[r.Pos()-1:r.End()-1] + " " + body + "()"
	}
	begin := f.Lbrace // behind the brace
	return text[:begin] + fmt.Sprintf(" if mutantNumber == %d { %s }; ", number, call) + text[begin:]
}
