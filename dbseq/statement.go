package dbseq

import (
	"embed"
	"fmt"
	"regexp"
	"strings"
)

//go:embed schema/*.sql sql/*.sql
var files embed.FS

// args are the parameters of statements by name.
type args map[string]any

// with returns a copy of a with more in it.
func (a args) with(more args) args {
	all := make(args, len(a)+len(more))
	for _, m := range []args{a, more} {
		for k, v := range m {
			all[k] = v
		}
	}
	return all
}

// A statement is one of sql/*.sql.
type statement struct {
	text  string
	names []string // of its parameters, in their order
}

func (s statement) bind(a args) []any {
	values := make([]any, len(s.names))
	for i, name := range s.names {
		v, ok := a[name]
		if !ok {
			panic("dbseq: parameter " + name + " is not given") // a fault of this package
		}
		values[i] = v
	}
	return values
}

// queries are the statements for one kind of server.
type queries struct {
	now                                                string // the server's clock
	clock, incarnation, table                          statement
	look, ticket, free, claim, forget                  statement
	renew, swap, release, lost, open, fill, slots      statement
	returning                                          bool // changes answer with a row, not with LAST_INSERT_ID
	compared                                           bool // incarnations are
	createSlot, createTicket, createMeta               statement
	tableSlot, tableTicket, tableMeta, tableDefinition string
}

var (
	heading = regexp.MustCompile(`(?m)^-- (\w+)\(([\w, ]*)\)\n`)
	remark  = regexp.MustCompile(`(?m)^--.*\n|[ \t]+-- .*$`)
)

// load reads the statements of a dialect. now and incarnation are SQL expressions; an
// empty incarnation is not compared.
func load(dialect, prefix, now, incarnation string) *queries {
	same := "incarnation = " + incarnation
	if incarnation == "" {
		incarnation, same = "''", "1 = 1"
	}
	fill := strings.NewReplacer("{now}", now, "{incarnation}", incarnation, "{same}", same, "snowlease_", prefix)

	text := read("sql/" + dialect + ".sql")
	found := map[string]statement{}
	at := heading.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		s := statement{text: fill.Replace(clean(text[m[1]:end]))}
		if names := text[m[4]:m[5]]; names != "" {
			s.names = strings.Split(names, ", ")
		}
		found[text[m[2]:m[3]]] = s
	}
	get := func(name string) statement {
		s, ok := found[name]
		if !ok {
			panic(fmt.Sprintf("dbseq: sql/%s.sql has no statement %s", dialect, name))
		}
		return s
	}

	ddl := strings.Split(clean(read("schema/"+dialect+".sql")), ";\n")
	create := func(i int) statement { return statement{text: fill.Replace(strings.TrimSpace(ddl[i]))} }
	return &queries{
		now: now, clock: get("clock"), incarnation: get("incarnation"), table: get("table"),
		look: get("look"), ticket: get("ticket"), free: get("free"), claim: get("claim"), forget: get("forget"),
		renew: get("renew"), swap: get("swap"), release: get("release"),
		lost: get("lost"), open: get("open"), fill: get("fill"), slots: get("slots"),
		returning: dialect != "mysql", compared: same != "1 = 1",
		createSlot: create(0), createTicket: create(1), createMeta: create(2),
		tableSlot: prefix + "slot", tableTicket: prefix + "ticket", tableMeta: prefix + "meta",
		tableDefinition: "dbseq/schema/" + dialect + ".sql",
	}
}

// clean is text without comments and without the last semicolon.
func clean(text string) string {
	return strings.TrimSuffix(strings.TrimSpace(remark.ReplaceAllString(text, "")), ";")
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
