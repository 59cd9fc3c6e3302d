package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	_ "github.com/libtnb/sqlite" // driver "sqlite"
)

// Results are the last run on each server: docs/engines/results.json.
type Results struct {
	Runs []Result `json:"runs"`
}

// A Result is a run on a server.
type Result struct {
	Engine  string  `json:"engine"`
	Folder  string  `json:"folder,omitempty"`  // below .tools/engines; empty: the machine's own
	Server  string  `json:"server,omitempty"`  // as it says itself
	Package string  `json:"package,omitempty"` // with its checksum if scripts/engines.sh fetched it
	Date    string  `json:"date"`
	Missing string  `json:"missing,omitempty"` // why nothing was run
	Suites  []Count `json:"suites,omitempty"`
}

func (r Result) title() string {
	if r.Server != "" {
		return r.Server
	}
	return r.Engine
}

// failed names the tests that failed.
func (r Result) failed() string {
	var all []string
	for _, c := range r.Suites {
		for _, test := range c.Failed {
			all = append(all, c.Suite+" "+test)
		}
	}
	return strings.Join(all, ", ")
}

const resultsFile = "docs/engines/results.json"

func read(root string) (*Results, error) {
	text, err := os.ReadFile(filepath.Join(root, resultsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return &Results{}, nil
	}
	if err != nil {
		return nil, err
	}
	r := &Results{}
	if err := json.Unmarshal(text, r); err != nil {
		return nil, fmt.Errorf("%s: %w", resultsFile, err)
	}
	return r, nil
}

// put replaces the former run on the server. The order is that of servers.
func (all *Results) put(r Result) {
	position := func(r Result) int {
		return slices.IndexFunc(servers, func(s server) bool { return s.name == r.Engine && s.folder == r.Folder })
	}
	all.Runs = slices.DeleteFunc(all.Runs, func(old Result) bool { return position(old) == position(r) || position(old) < 0 })
	all.Runs = append(all.Runs, r)
	slices.SortFunc(all.Runs, func(a, b Result) int { return position(a) - position(b) })
}

// write writes the results, and the table of the document.
func (all *Results) write(root string) error {
	text, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, filepath.Dir(resultsFile)), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(root, resultsFile), append(text, '\n'), 0o644); err != nil {
		return err
	}
	file := filepath.Join(root, tablePage)
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := all.replace(string(page))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}

const (
	tablePage = "docs/design/proof.md"

	begin = "<!-- make engines writes this table -->\n"
	end   = "<!-- servers: end -->\n"
)

// replace puts the table between the markers of the page.
func (all *Results) replace(page string) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, closed := strings.Cut(rest, end)
	if !found || !closed {
		return "", fmt.Errorf("%s: no %s... %s", tablePage, begin, end)
	}
	return before + begin + all.table() + end + after, nil
}

// table returns what was run, a row for each server.
func (all *Results) table() string {
	var b strings.Builder
	b.WriteString("| server | package | contract | GORM | chaos | date |\n|---|---|---|---|---|---|\n")
	for _, r := range all.Runs {
		pkg, _, _ := strings.Cut(r.Package, ", SHA-256")
		if r.Missing != "" {
			pkg = "not run: " + r.Missing
		}
		cells := []string{r.title(), pkg}
		for _, column := range columns {
			cells = append(cells, r.cell(column))
		}
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(cells, " | "), r.Date)
	}
	return b.String()
}

func (r Result) cell(column string) string {
	i := slices.IndexFunc(r.Suites, func(c Count) bool { return c.Suite == column })
	if i < 0 {
		return "–"
	}
	c := r.Suites[i]
	switch {
	case len(c.Failed) > 0:
		return "**FAILED**: `" + strings.Join(c.Failed, "`, `") + "`"
	case c.Skipped > 0:
		return fmt.Sprintf("%d, %d skipped", c.Passed, c.Skipped)
	case column == chaos:
		return "a minute"
	}
	return fmt.Sprint(c.Passed)
}

// sqlite returns the version of the SQLite in go.mod, and its module.
func sqlite() (server, module string) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return "", ""
	}
	defer db.Close()
	var version string
	if db.QueryRow("SELECT sqlite_version()").Scan(&version) != nil {
		return "", ""
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "modernc.org/sqlite" {
				module = m.Path + " " + m.Version
			}
		}
	}
	return "SQLite " + version, module
}
