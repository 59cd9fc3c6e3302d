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
// Offutt, Harrold, ISSTA 1993). A function is followed by a copy for each mutant that
// changes its body, and begins with a choice among them by a number from the environment.
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
	if m != nil {
		cmd.Args = append(cmd.Args, "-test.failfast") // one test is enough for a kill
	}
	switch {
	case m == nil:
	case m.embedded():
		_, text := m.source(t)
		cmd.Env = append(cmd.Env, insteadOf+"="+root(t, m.file), scriptVariable+"="+write(t, t.TempDir(), "script", text))
	default:
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
		if before[i].body == after[i].body {
			continue
		}
		text = now[i].choosing(text, number) + "\n" + now[i].copied(number, after[i].body) + "\n"
	}
	return text, true
}

// A function is a declaration within a text.
type function struct {
	*ast.FuncDecl
	text string
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
			all = append(all, function{f, text, text[f.Body.Pos()-1 : f.Body.End()-1]})
		}
	}
	return all, rest + text[end-1:]
}

// copied returns the declaration with another body, under another name.
func (f function) copied(number int, body string) string {
	return f.text[f.Pos()-1:f.Name.Pos()-1] + f.variant(number) + f.text[f.Name.End()-1:f.Body.Pos()-1] + body
}

func (f function) variant(number int) string { return fmt.Sprintf("%sMutant%d", f.Name.Name, number) }

// choosing returns text with a function that begins by calling the variant if the number
// says so. Parameters without a name get one.
func (f function) choosing(text string, number int) string {
	type insertion struct {
		at   token.Pos
		till token.Pos
		text string
	}
	var (
		insertions []insertion
		call       string
		arguments  []string
	)
	named := func(fields *ast.FieldList) (names []string) {
		if fields == nil {
			return nil
		}
		for _, field := range fields.List {
			if field.Names == nil {
				name := fmt.Sprintf("mutantArg%d", field.Pos())
				insertions = append(insertions, insertion{field.Type.Pos(), field.Type.Pos(), name + " "})
				names = append(names, name)
			}
			for _, n := range field.Names {
				name := n.Name
				if name == "_" {
					name = fmt.Sprintf("mutantArg%d", n.Pos())
					insertions = append(insertions, insertion{n.Pos(), n.End(), name})
				}
				names = append(names, name)
			}
			if _, variadic := field.Type.(*ast.Ellipsis); variadic {
				names[len(names)-1] += "..."
			}
		}
		return names
	}
	if f.Recv != nil {
		call = named(f.Recv)[0] + "."
	}
	call += f.variant(number)
	if f.Type.TypeParams != nil {
		call += "[" + strings.Join(named(f.Type.TypeParams), ", ") + "]"
	}
	arguments = named(f.Type.Params)
	call += "(" + strings.Join(arguments, ", ") + ")"
	if f.Type.Results != nil {
		call = "return " + call
	} else {
		call += "; return"
	}
	insertions = append(insertions, insertion{f.Body.Pos() + 1, f.Body.Pos() + 1, fmt.Sprintf(" if mutantNumber == %d { %s }; ", number, call)})
	for _, in := range slices.Backward(insertions) {
		text = text[:in.at-1] + in.text + text[in.till-1:]
	}
	return text
}
