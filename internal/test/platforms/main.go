// Platforms type-checks the packages of a module and their tests as other platforms
// compile them:
//
//	go run ./internal/test/platforms linux/386 windows/amd64
//
// Go vet would do the same, but compiles all dependencies for each platform first,
// which takes minutes where they are not cached. This reads them without the bodies
// of their functions, in seconds.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	status := 0
	for _, platform := range os.Args[1:] {
		if err := check(context.Background(), ".", platform); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", platform, err)
			status = 1
		}
	}
	os.Exit(status)
}

// A listed package is one that go list tells of. A package with its tests is one more,
// and so is each that imports it for them.
type listed struct {
	ImportPath, Dir string
	DepOnly         bool
	GoFiles         []string
	ImportMap       map[string]string // from an import to the ImportPath that it means
}

// check returns the errors of the packages in dir and below. Cgo is off.
func check(ctx context.Context, dir, platform string) error {
	system, arch, ok := strings.Cut(platform, "/")
	sizes := types.SizesFor("gc", arch)
	if !ok || sizes == nil {
		return errors.New("is no platform such as linux/386")
	}
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-json=ImportPath,Dir,DepOnly,GoFiles,ImportMap", "./...")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(cmd.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}

	var errs []error
	fset := token.NewFileSet()
	done := packages{"unsafe": types.Unsafe}
	list := json.NewDecoder(strings.NewReader(string(out)))
	for { // dependencies come first
		var p listed
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return errors.Join(errs...)
		} else if err != nil {
			return err
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // made up by the go command
			continue
		}
		own := !p.DepOnly
		fault := func(err error) {
			if own {
				errs = append(errs, err)
			}
		}
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				fault(err)
				continue
			}
			files = append(files, file)
		}
		conf := types.Config{Importer: done.as(p.ImportMap), Sizes: sizes, IgnoreFuncBodies: !own, Error: fault}
		path, _, _ := strings.Cut(p.ImportPath, " ") // "pkg [pkg.test]"
		done[p.ImportPath], _ = conf.Check(path, fset, files, nil)
	}
}

// packages are those that were checked, by ImportPath.
type packages map[string]*types.Package

func (done packages) as(names map[string]string) types.Importer {
	return importer(func(path string) (*types.Package, error) {
		if name, ok := names[path]; ok {
			path = name
		}
		if p := done[path]; p != nil {
			return p, nil
		}
		return nil, fmt.Errorf("package %s is not there", path)
	})
}

type importer func(path string) (*types.Package, error)

func (f importer) Import(path string) (*types.Package, error) { return f(path) }
