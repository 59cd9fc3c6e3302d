package dbseq

import (
	"cmp"
	"embed"
	"regexp"
	"slices"
	"strconv"
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
	heading = regexp.MustCompile(`(?m)^-- (\w+)\(([\w, ]*)\)$|^CREATE TABLE snowlease_(\w+)`)
	remark  = regexp.MustCompile(`(?m)^--.*\n|[ \t]+-- .*$`)
)

// unknown stands for the incarnation expression until the kind of server is known. Every
// server rejects a statement that contains it.
const unknown = "{incarnation}"

// load returns the statements of a dialect by name. now and incarnation are SQL
// expressions. If incarnation is empty, statements do not compare it.
func load(dialect Dialect, prefix, now, incarnation string) map[string]statement {
	same := "incarnation = " + incarnation
	if dialect == MySQL { // which ignores spaces at the end
		same += " AND CHAR_LENGTH(incarnation) = CHAR_LENGTH(" + incarnation + ")"
	}
	if incarnation == "" {
		incarnation, same = "''", "1 = 1"
	}
	fill := strings.NewReplacer("{now}", now, "{incarnation}", incarnation, "{same}", same, "{sound}", sound, "{top}", strconv.FormatInt(topToken, 10), "snowlease_", prefix)
	found := map[string]statement{}
	for _, file := range []string{"sql/", "sql/operator_", "sql/segment_", "sql/examine_", "schema/", "schema/segment_"} {
		for part := range strings.SplitSeq(read(file+string(dialect)+".sql"), ";\n") {
			if m := heading.FindStringSubmatch(part); m != nil {
				text := fill.Replace(strings.TrimSpace(remark.ReplaceAllString(part, "")))
				found[cmp.Or(m[1], "create "+m[3])] = statement{text, strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })}
			}
		}
	}
	reserve, beside := found["reserve"], found["beside"]
	found["reserve_beside"] = statement{strings.Replace(reserve.text, "{beside}", beside.text, 1), slices.Concat(reserve.names, beside.names)}
	found["reserve"] = statement{strings.Replace(reserve.text, " {beside}", "", 1), reserve.names}
	return found
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
