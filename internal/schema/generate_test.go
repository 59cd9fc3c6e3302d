package schema_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/snowlease/snowlease/idworker"
)

var update = flag.Bool("update", false, "write snowlease.schema.json")

func TestUpToDate(t *testing.T) {
	g := generator{t: t, packages: map[string]*source{}}
	root := g.object(reflect.TypeFor[idworker.Config]())
	root.Schema, root.ID = "https://json-schema.org/draft/2020-12/schema", "https://github.com/snowlease/snowlease/internal/schema/snowlease.schema.json"
	root.Title = "idworker.Config"
	var want bytes.Buffer
	e := json.NewEncoder(&want)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	require.NoError(t, e.Encode(root))
	if *update {
		require.NoError(t, os.WriteFile("snowlease.schema.json", want.Bytes(), 0o644))
		return
	}
	got, err := os.ReadFile("snowlease.schema.json")
	require.NoError(t, err)
	if want.String() != string(got) { // both are long
		t.Error("snowlease.schema.json is not the schema of idworker.Config: run go generate ./internal/schema")
	}
}

func TestPresets(t *testing.T) {
	for _, name := range presets {
		require.NoError(t, idworker.Config{Namespace: "a", Preset: name}.Validate())
	}
}

// A node is a schema or a part of one.
type node struct {
	Schema               string           `json:"$schema,omitempty"`
	ID                   string           `json:"$id,omitempty"`
	Title                string           `json:"title,omitempty"`
	Description          string           `json:"description,omitempty"`
	Type                 any              `json:"type"`
	Enum                 []string         `json:"enum,omitempty"`
	Pattern              string           `json:"pattern,omitempty"`
	Minimum              *int             `json:"minimum,omitempty"`
	Maximum              *int             `json:"maximum,omitempty"`
	Items                *node            `json:"items,omitempty"`
	AdditionalProperties *bool            `json:"additionalProperties,omitempty"`
	Properties           map[string]*node `json:"properties,omitempty"`
}

// duration matches the strings that time.ParseDuration accepts, but not plain numbers.
const duration = `^(0|[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))*)$`

// presets lists the values of preset, which has no constants.
var presets = []string{"default", "twitter", "discord", "wide", "yitter", "jssafe"}

type generator struct {
	t        *testing.T
	packages map[string]*source
}

// A source has the comments and constants of a package.
type source struct {
	fields    map[string]string   // Type.Field -> doc comment
	constants map[string][]string // type, or field that the names begin with -> values
}

func (g *generator) object(typ reflect.Type) *node {
	src, closed := g.source(typ.PkgPath()), false
	n := &node{Type: "object", Description: src.fields[typ.Name()], AdditionalProperties: &closed, Properties: map[string]*node{}}
	for _, f := range reflect.VisibleFields(typ) {
		key := f.Tag.Get("yaml")
		if key == "-" {
			continue
		}
		require.NotEmpty(g.t, key, "%v.%s has no yaml tag", typ, f.Name)
		require.Equal(g.t, key, f.Tag.Get("json"), "%v.%s", typ, f.Name)
		p := g.value(f.Type)
		p.Description = src.fields[typ.Name()+"."+f.Name]
		require.NotEmpty(g.t, p.Description, "%v.%s has no comment", typ, f.Name)
		if f.Name == "Preset" {
			p.Enum = append([]string{""}, presets...)
		}
		n.Properties[key] = p
	}
	return n
}

func (g *generator) value(typ reflect.Type) *node {
	switch {
	case typ == reflect.TypeFor[time.Duration]():
		return &node{Type: "string", Pattern: duration}
	case typ.Kind() == reflect.Pointer:
		n := g.value(typ.Elem())
		n.Type = []any{n.Type, "null"}
		return n
	case typ.Kind() == reflect.Struct:
		return g.object(typ)
	case typ.Kind() == reflect.Slice:
		n := g.value(typ.Elem())
		n.Enum = slices.DeleteFunc(n.Enum, func(s string) bool { return s == "" })
		return &node{Type: []any{"array", "null"}, Items: n}
	case typ.Kind() == reflect.String:
		n := &node{Type: "string"}
		if typ.PkgPath() != "" {
			n.Enum = g.source(typ.PkgPath()).constants[typ.Name()]
		}
		return n
	case typ.Kind() == reflect.Bool:
		return &node{Type: "boolean"}
	case typ.Kind() == reflect.Uint8:
		lo, hi := 0, 255
		return &node{Type: "integer", Minimum: &lo, Maximum: &hi}
	}
	require.True(g.t, typ.Kind() == reflect.Int || typ.Kind() == reflect.Int64, "a field of %v: add it here", typ)
	return &node{Type: "integer"}
}

const module = "github.com/snowlease/snowlease"

func (g *generator) source(pkg string) *source {
	if s := g.packages[pkg]; s != nil {
		return s
	}
	s := &source{fields: map[string]string{}, constants: map[string][]string{}}
	g.packages[pkg] = s
	files, err := filepath.Glob(filepath.Join("../..", strings.TrimPrefix(pkg+"/", module), "*.go"))
	require.NoError(g.t, err)
	require.NotEmpty(g.t, files, pkg)
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		require.NoError(g.t, err)
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok {
				for _, spec := range d.Specs {
					s.read(d, spec)
				}
			}
		}
	}
	return s
}

func (s *source) read(d *ast.GenDecl, spec ast.Spec) {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if st, ok := spec.Type.(*ast.StructType); ok {
			s.fields[spec.Name.Name] = line(d.Doc)
			last := ""
			for _, f := range st.Fields.List {
				if f.Doc != nil { // one comment may document several fields
					last = line(f.Doc)
				}
				for _, name := range f.Names {
					s.fields[spec.Name.Name+"."+name.Name] = last
				}
			}
		}
	case *ast.ValueSpec:
		if d.Tok != token.CONST || len(spec.Values) != 1 {
			return
		}
		lit, ok := spec.Values[0].(*ast.BasicLit)
		if !ok || lit.Kind != token.STRING {
			return
		}
		value, _ := strconv.Unquote(lit.Value)
		if typ, ok := spec.Type.(*ast.Ident); ok {
			s.add(typ.Name, value)
		}
	}
}

// add adds a value to those of a type, which may also be empty.
func (s *source) add(name, value string) {
	if len(s.constants[name]) == 0 {
		s.constants[name] = []string{""}
	}
	s.constants[name] = append(s.constants[name], value)
}

func line(doc *ast.CommentGroup) string { return strings.Join(strings.Fields(doc.Text()), " ") }
