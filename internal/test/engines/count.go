package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Count is how a suite ended.
type Count struct {
	Suite   string   `json:"suite"`
	Passed  int      `json:"passed"`            // tests that ran on the server and have no subtests
	Skipped int      `json:"skipped,omitempty"` // of those that asked for the server
	Failed  []string `json:"failed,omitempty"`  // all, also those without the server
	Seconds int      `json:"seconds"`
}

// tests are what go test -json says.
type tests struct {
	ended           map[string]string // pass, skip or fail, by name
	on              map[string]bool   // asked for the server
	failed          []string          // packages without a failed test too
	output          map[string][]string
	server, program string
	leftOut         string
}

func parse(out []byte) *tests {
	t := &tests{ended: map[string]string{}, on: map[string]bool{}, output: map[string][]string{}}
	var packages []string
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e struct{ Action, Package, ImportPath, Test, Key, Value, Output string }
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		name := e.Package + e.ImportPath
		if e.Test != "" {
			name += " " + e.Test
		}
		switch e.Action {
		case "pass", "skip", "fail":
			switch {
			case e.Test != "":
				t.ended[name] = e.Action
			case e.Action == "fail":
				packages = append(packages, name)
			}
		case "attr":
			t.on[name] = true
			switch e.Key {
			case "server":
				t.server = e.Value
			case "program":
				t.program = e.Value
			}
		case "output", "build-output":
			t.output[name] = append(t.output[name], e.Output)
			if reason, found := strings.CutPrefix(e.Output, "left out: "); found {
				t.leftOut = strings.TrimSpace(reason)
			}
		}
	}
	for _, name := range t.leaves() {
		if t.ended[name] == "fail" {
			t.failed = append(t.failed, name)
		}
	}
	for _, name := range packages {
		if !slices.ContainsFunc(t.failed, func(test string) bool { return strings.HasPrefix(test, name+" ") }) {
			t.failed = append(t.failed, name)
		}
	}
	return t
}

// leaves returns the tests without subtests that ended as they did, sorted. A test that
// failed while all its subtests passed is one.
func (t *tests) leaves() (all []string) {
	names := slices.Sorted(maps.Keys(t.ended))
	for _, name := range names {
		leaf := !slices.ContainsFunc(names, func(other string) bool {
			return strings.HasPrefix(other, name+"/") && (t.ended[name] != "fail" || t.ended[other] == "fail")
		})
		if leaf {
			all = append(all, name)
		}
	}
	return all
}

// count counts the tests that ran on the engine. Those on SQLite say so in their name.
func (t *tests) count(engine string) (c Count) {
	for _, name := range t.leaves() {
		on := false
		for part := name; part != ""; {
			i := strings.LastIndexByte(part, '/')
			on = on || t.on[part] || engine == "sqlite" && strings.EqualFold(part[i+1:], engine)
			if i = strings.LastIndexByte(part, '/'); i < strings.IndexByte(part, ' ') {
				break
			}
			part = part[:i]
		}
		switch {
		case !on:
		case t.ended[name] == "pass":
			c.Passed++
		case t.ended[name] == "skip" && !strings.Contains(strings.Join(t.output[name], ""), "SNOWLEASE_TEST_ENGINE"): // it needs two engines
			c.Skipped++
		}
	}
	for _, name := range t.failed {
		c.Failed = append(c.Failed, short(name))
	}
	return c
}

// short returns the test without its package.
func short(name string) string {
	if _, test, found := strings.Cut(name, " "); found {
		return test
	}
	return "go test " + name[strings.LastIndexByte(name, '/')+1:]
}

// said returns what the failed tests and the packages printed.
func (t *tests) said(failed []string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(t.output)) {
		if strings.Contains(name, " ") && !slices.Contains(failed, short(name)) {
			continue
		}
		lines := t.output[name]
		fmt.Fprintf(&b, "== %s\n%s", name, strings.Join(lines[max(0, len(lines)-80):], ""))
	}
	return b.String()
}
