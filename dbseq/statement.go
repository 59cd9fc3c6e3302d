package dbseq

import (
	"embed"
	"slices"
	"strings"
	"sync"
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

// statements are those of a dialect that were used, for the SQL expressions of the server's clock
// and incarnation.
type statements struct {
	now, incarnation string
	fill             *strings.Replacer
	mu               sync.Mutex
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

// unknown stands for the incarnation expression until the kind of server is known. Every
// server rejects a statement that contains it.
const unknown = "{incarnation}"

// parts returns the statements of the dialect by name, as the files have them. Most processes use a
// few, so each is put together when it is used.
func (d *dialect) parts() map[string]string {
	found := map[string]string{}
	for _, file := range []string{"sql/lease", "sql/operator", "sql/segment", "sql/" + string(d.name), "schema/" + string(d.name), "schema/segment_" + string(d.name)} {
		for part := range strings.SplitSeq(read(file+".sql"), ";\n") {
			if _, after, ok := strings.Cut(part, "-- name: "); ok {
				name, text, _ := strings.Cut(after, "\n")
				found[name] = text
			} else if _, after, ok := strings.Cut(part, "CREATE TABLE snowlease_"); ok {
				table, _, _ := strings.Cut(after, " ")
				found["create "+table] = part
			}
		}
	}
	found["reserve_beside"] = strings.Replace(found["reserve"], "{beside}", found["beside"], 1)
	found["reserve"] = strings.Replace(found["reserve"], " {beside}", "", 1)
	delete(found, "beside")
	return found
}

// filled returns statements for tables of a prefix. now and incarnation are SQL expressions. If
// incarnation is empty, statements do not compare it.
func (d *dialect) filled(prefix, now, incarnation string) *statements {
	s := &statements{now: now, incarnation: incarnation, all: map[string]statement{}}
	same := d.same(incarnation)
	if incarnation == "" {
		incarnation, same = d.write("''"), "1 = 1"
	}
	s.fill = strings.NewReplacer("{now}", now, "{incarnation}", incarnation, "{same}", same, "snowlease_", prefix)
	return s
}

// statement puts a statement together: it leaves out remarks, binds parameters and fills in
// expressions.
func (d *dialect) statement(part string, fill *strings.Replacer) statement {
	var lines []string
	for line := range strings.SplitSeq(part, "\n") {
		line, _, _ = strings.Cut(line, "--")
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	text, names := d.bound(d.write(strings.Replace(strings.Join(lines, "\n"), "{numbers}", d.numbers, 1)))
	return statement{fill.Replace(text), names}
}

// bound puts the parameters of a dialect in place of :name, and returns their names in order.
func (d *dialect) bound(text string) (bound string, names []string) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(text, ":")
		b.WriteString(before)
		name := after[:len(after)-len(strings.TrimLeft(after, "abcdefghijklmnopqrstuvwxyz"))]
		text = after[len(name):]
		switch {
		case !found:
			return b.String(), names
		case strings.HasPrefix(after, ":"): // a cast
			b.WriteString("::")
			text = after[1:]
		case d.parameter == nil:
			names = append(names, name)
			b.WriteByte('?')
		default:
			n := slices.Index(names, name)
			if n < 0 {
				n, names = len(names), append(names, name)
			}
			b.WriteString(d.parameter(n+1, name))
		}
	}
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
