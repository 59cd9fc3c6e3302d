package sqlconn

import (
	"embed"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

//go:embed sql/*.sql
var files embed.FS

// Args are parameters of statements by name.
type Args map[string]any

// With returns a copy of a that includes more.
func (a Args) With(more Args) Args {
	all := maps.Clone(a)
	maps.Copy(all, more)
	return all
}

// A statement is a statement of sql/*.sql or schema/*.sql, such as "create slot".
type statement struct {
	text  string
	names []string // of the parameters, in order
}

// statements are those of a dialect, with the incarnation that they compare.
type statements struct {
	named       map[string]statement
	incarnation string
}

// named returns the statement of that name.
func (c *Conn) named(name string) statement {
	s, known := c.statements.Load().named[name]
	if !known {
		panic("dbseq: no statement of " + c.dialect.name + " is called " + name) // a bug in this module
	}
	return s
}

func (s statement) bind(a Args) []any {
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

// parts returns the statements of a dialect by name, without the expressions that filled adds.
func (d *dialect) parts(t Tables) map[string]statement {
	found := map[string]statement{}
	common, _ := fs.Glob(t.Files, "sql/*.sql")
	own := "sql/" + d.name + ".sql"
	for _, text := range append(read(t.Files, append(common, "schema/"+d.name+".sql")...), read(files, "sql/server.sql", own)...) {
		for part := range strings.SplitSeq(text, ";\n") {
			if _, after, ok := strings.Cut(part, "-- name: "); ok {
				name, text, _ := strings.Cut(after, "\n")
				found[name] = d.statement(text)
			} else if _, after, ok := strings.Cut(part, "CREATE TABLE snowlease_"); ok {
				table, _, _ := strings.Cut(after, " ")
				found["create "+table] = d.statement(part)
			}
		}
	}
	return found
}

// filled completes parts for tables with a prefix. now and incarnation are SQL expressions. If
// incarnation is empty, statements do not compare it.
func (d *dialect) filled(parts map[string]statement, prefix, now, incarnation string) map[string]statement {
	filled := map[string]statement{}
	same := "incarnation = " + incarnation
	if d.repeats != "" {
		same = "(" + same + " OR " + d.repeats + ")"
	}
	if incarnation == "" {
		incarnation, same = d.write("''"), "1 = 1"
	}
	fill := strings.NewReplacer("{now}", now, "{incarnation}", incarnation, "{same}", same, "snowlease_", prefix)
	for name, part := range parts {
		filled[name] = statement{fill.Replace(part.text), part.names}
	}
	return filled
}

// answered is true if the server is the one of the parameter, or no server is known.
const answered = "(COALESCE(:server, '') = '' OR EXISTS (SELECT 1 FROM (SELECT :server AS incarnation) AS seen WHERE {same}))"

// statement removes comments from a part, translates it and binds its parameters.
func (d *dialect) statement(part string) statement {
	var lines []string
	for line := range strings.SplitSeq(part, "\n") {
		line, _, _ = strings.Cut(line, "--")
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
	}
	text, names := d.bound(d.write(strings.NewReplacer("{numbers}", d.numbers, "{answered}", answered).Replace(strings.Join(lines, "\n"))))
	return statement{text, names}
}

// bound replaces :name by the parameters of the dialect, and returns their names in order.
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

func read(from fs.FS, names ...string) (texts []string) {
	for _, name := range names {
		text, err := fs.ReadFile(from, name)
		if err != nil {
			panic(err) // the file is part of the program
		}
		texts = append(texts, string(text))
	}
	return texts
}
