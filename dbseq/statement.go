package dbseq

import (
	"cmp"
	"embed"
	"regexp"
	"slices"
	"strings"
)

//go:embed schema/*.sql sql/*.sql
var files embed.FS

// args are parameters of statements by name.
type args map[string]any

// with returns a copy of a that includes more.
func (a args) with(more args) args {
	all := make(args, len(a)+len(more))
	for _, m := range []args{a, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// A statement is one of sql/*.sql, or one of schema/*.sql, such as "create slot".
type statement struct {
	text  string
	names []string // of the parameters, in order
}

// statements are all of a dialect, for the SQL expressions of the server's clock and incarnation.
type statements struct {
	now, incarnation string
	all              map[string]statement
}

func (s statement) bind(a args) []any {
	values := make([]any, len(s.names))
	for i, name := range s.names {
		v, ok := a[name]
		if !ok {
			panic("dbseq: parameter " + name + " is not given") // a bug in this package
		}
		values[i] = v
	}
	return values
}

var (
	heading  = regexp.MustCompile(`(?m)^-- name: (\w+)$|^CREATE TABLE snowlease_(\w+)`)
	remark   = regexp.MustCompile(`(?m)^--.*\n|[ \t]+-- .*$`)
	variable = regexp.MustCompile(`(^|[^:]):([a-z]+)`) // not a cast
)

// unknown stands for the incarnation expression until the kind of server is known. Every
// server rejects a statement that contains it.
const unknown = "{incarnation}"

// load returns the statements of a dialect by name. now and incarnation are SQL
// expressions. If incarnation is empty, statements do not compare it.
func load(d *dialect, prefix, now, incarnation string) map[string]statement {
	same := d.same(incarnation)
	if incarnation == "" {
		incarnation, same = "''", "1 = 1"
	}
	fill := strings.NewReplacer("{now}", now, "{incarnation}", incarnation, "{same}", same, "snowlease_", prefix)
	texts := map[string]string{}
	for _, file := range []string{"sql/lease", "sql/operator", "sql/segment", "sql/" + string(d.name), "schema/" + string(d.name), "schema/segment_" + string(d.name)} {
		for part := range strings.SplitSeq(read(file+".sql"), ";\n") {
			if m := heading.FindStringSubmatch(part); m != nil {
				texts[cmp.Or(m[1], "create "+m[2])] = strings.TrimSpace(remark.ReplaceAllString(part, ""))
			}
		}
	}
	texts["reserve_beside"] = strings.Replace(texts["reserve"], "{beside}", texts["beside"], 1)
	texts["reserve"] = strings.Replace(texts["reserve"], " {beside}", "", 1)
	delete(texts, "beside")
	found := map[string]statement{}
	for name, text := range texts {
		text, names := d.bound(d.write(strings.Replace(text, "{numbers}", d.numbers, 1)))
		found[name] = statement{fill.Replace(text), names}
	}
	return found
}

// bound puts the parameters of a dialect in place of :name, and returns their names in order.
func (d *dialect) bound(text string) (bound string, names []string) {
	bound = variable.ReplaceAllStringFunc(text, func(found string) string {
		before, name, _ := strings.Cut(found, ":")
		if d.parameter == nil {
			names = append(names, name)
			return before + "?"
		}
		n := slices.Index(names, name)
		if n < 0 {
			n, names = len(names), append(names, name)
		}
		return before + d.parameter(n+1, name)
	})
	return bound, names
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
