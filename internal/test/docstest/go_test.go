package docstest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snowlease/snowlease/internal/test/limit"

	"github.com/stretchr/testify/require"
)

// A universe is the packages that a module of this repository can import.
type universe struct {
	fset    *token.FileSet
	exports map[string]string
	types.Importer
}

// load asks the go command for the exported API of the packages and their imports.
func load(t *testing.T, module string, paths []string) *universe {
	t.Helper()
	slices.Sort(paths)
	cmd := exec.CommandContext(limit.Compiling(t), "go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}"}, slices.Compact(paths)...)...)
	cmd.Dir = filepath.Join(root, module)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	u := &universe{fset: token.NewFileSet(), exports: map[string]string{}}
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		u.exports[path] = file
	}
	u.Importer = importer.ForCompiler(u.fset, "gc", func(path string) (io.ReadCloser, error) {
		if u.exports[path] == "" {
			return nil, fmt.Errorf("package %s is not there", path)
		}
		return os.Open(u.exports[path])
	})
	return u
}

// others reports whether the package belongs to another module, or needs one.
func others(path string) bool {
	for _, part := range []string{"/metrics", "/prometheus", "go.uber.org/zap", "/etcdseq", "/go-zero/", "/watermill/", "/gogf/"} {
		if strings.Contains(path, part) {
			return true
		}
	}
	return false
}

// complete turns a block into a file.
func complete(text string) (string, error) {
	file, wrapped := text, false
	if !strings.HasPrefix(text, "package ") {
		file = "package p\n" + text
	}
	tree, err := parser.ParseFile(token.NewFileSet(), "block.go", file, parser.SkipObjectResolution)
	if err != nil {
		file, wrapped = "package p\nfunc _() {\n"+text+"\n}", true
		var err2 error
		if tree, err2 = parser.ParseFile(token.NewFileSet(), "block.go", file, parser.SkipObjectResolution); err2 != nil {
			return "", fmt.Errorf("neither declarations (%w) nor statements (%w)", err, err2)
		}
	}
	if strings.HasPrefix(text, "package ") {
		return file, nil
	}
	declared, imported := map[string]bool{}, map[string]bool{}
	for _, d := range tree.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			declared[d.Name.Name] = d.Recv == nil
			for _, param := range d.Type.Params.List {
				for _, n := range param.Names {
					declared[n.Name] = true
				}
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					declared[s.Name.Name] = true
				case *ast.ValueSpec:
					for _, n := range s.Names {
						declared[n.Name] = true
					}
				case *ast.ImportSpec:
					imported[strings.Trim(s.Path.Value, `"`)] = true
				}
			}
		}
	}
	extra := ""
	need := map[string]bool{}
	var visit func(ast.Node)
	visit = func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok {
					if path := packages[x.Name]; path != "" && !declared[x.Name] && !imported[path] {
						need[path] = true
					}
				}
				visit(n.X)
				return false // not the selected name
			case *ast.Ident:
				decl := prelude[n.Name]
				if decl == "" || declared[n.Name] {
					return true
				}
				declared[n.Name] = true
				extra += decl + "\n"
				more, err := parser.ParseFile(token.NewFileSet(), "prelude.go", "package p\n"+decl, parser.SkipObjectResolution)
				if err != nil {
					panic(err)
				}
				visit(more)
			}
			return true
		})
	}
	for _, d := range tree.Decls {
		visit(d)
	}
	imports := ""
	for _, path := range slices.Sorted(maps.Keys(need)) {
		imports += fmt.Sprintf("import %q\n", path)
	}
	body := strings.TrimPrefix(file, "package p\n")
	if wrapped {
		return "package p\n" + imports + extra + body, nil
	}
	return "package p\n" + imports + body + "\n" + extra, nil
}

// importsOf returns the paths that a file imports.
func importsOf(file string) (paths []string) {
	tree, err := parser.ParseFile(token.NewFileSet(), "block.go", file, parser.ImportsOnly)
	if err != nil {
		return nil
	}
	for _, s := range tree.Imports {
		paths = append(paths, strings.Trim(s.Path.Value, `"`))
	}
	return paths
}

// check type-checks a file. Unused variables and imports are allowed.
func (u *universe) check(file string) error {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, "block.go", file, 0)
	if err != nil {
		return err
	}
	var errs []error
	conf := types.Config{Importer: u, Error: func(err error) {
		if e := (types.Error{}); errors.As(err, &e) && !e.Soft {
			errs = append(errs, err)
		}
	}}
	_, _ = conf.Check("p", fset, []*ast.File{tree}, nil)
	if len(errs) > 0 {
		return fmt.Errorf("%w, in\n%s", errors.Join(errs...), file)
	}
	return nil
}

// moduleOf returns the folder of the module that a block is compiled in.
func moduleOf(b block) string { return cmp.Or(strings.TrimPrefix(b.mark, "module "), ".") }

func TestGo(t *testing.T) {
	t.Parallel()
	modules := map[string][]string{}
	each(t, func(_ *testing.T, b block) error {
		file, err := complete(b.text)
		modules[moduleOf(b)] = append(modules[moduleOf(b)], importsOf(file)...)
		return err
	}, "go")
	universes := map[string]*universe{}
	for module, paths := range modules {
		universes[module] = load(t, module, paths)
	}
	each(t, func(_ *testing.T, b block) error {
		file, err := complete(b.text)
		if err != nil {
			return nil // reported above
		}
		return universes[moduleOf(b)].check(file)
	}, "go")
}

// TestGoNames checks the Go names in the prose, such as idworker.Config.
func TestGoNames(t *testing.T) {
	t.Parallel()
	paths := slices.DeleteFunc(slices.Collect(maps.Values(packages)), others)
	u := load(t, ".", paths)
	n := 0
	for _, p := range pages(t) {
		for _, name := range goNames(p.prose) {
			n++
			if err := u.lookUp(name); err != nil {
				t.Errorf("%s: %s: %v", p.name, name, err)
			}
		}
	}
	require.Greater(t, n, 20)
	for _, wrong := range []string{"idworker.Nothing", "idworker.Config.Nothing", "lease.Center.Nothing"} {
		require.Error(t, u.lookUp(wrong))
	}
}

// goNames finds code spans that begin with an exported name of a package of this
// module, optionally with a field or method.
func goNames(prose string) (names []string) {
	for _, m := range goName.FindAllStringSubmatch(prose, -1) {
		if path := packages[m[2]]; strings.HasPrefix(path, base) && !others(path) && !testName.MatchString(m[0]+"`") {
			names = append(names, m[1])
		}
	}
	return names
}

func (u *universe) lookUp(name string) error {
	parts := strings.Split(name, ".")
	pkg, err := u.Import(packages[parts[0]])
	if err != nil {
		return err
	}
	obj := pkg.Scope().Lookup(parts[1])
	if obj == nil {
		return fmt.Errorf("package %s has no %s", parts[0], parts[1])
	}
	if len(parts) > 2 {
		if found, _, _ := types.LookupFieldOrMethod(obj.Type(), true, pkg, parts[2]); found == nil {
			return fmt.Errorf("%s.%s has no %s", parts[0], parts[1], parts[2])
		}
	}
	return nil
}
