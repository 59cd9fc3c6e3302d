// Package sqlite is the driver of package providers/sqlite.
package sqlite

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/libtnb/sqlite"

	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
)

// Driver returns the driver named sqlite. Opening a database opens the file, and creates it if it
// does not exist. Its folder must exist.
func Driver() sqlopen.Driver {
	return sqlopen.Driver{
		Name: "sqlite",
		Form: "data/orders.db or file:data/orders.db?_pragma=busy_timeout(5000)",
		Hint: "that the folder of the file exists and is writable, that the file is a SQLite database, and the parameters in db.dsn",
		Open: open,
	}
}

func open(_ context.Context, dsn string, _ time.Duration) (sqlopen.Target, error) {
	path, query, _ := strings.Cut(dsn, "?")
	if !sqlitedsn.IsPath(path) {
		return sqlopen.Target{}, errors.New("it is not the path of a file")
	}
	set, err := url.ParseQuery(query)
	if err != nil {
		return sqlopen.Target{}, errors.New("its parameters cannot be parsed")
	}
	name := strings.TrimPrefix(path, "file:")
	// Each connection would have its own database, except with vfs=memdb, whose databases are shared
	// by name.
	memory := name == "" || strings.Contains(name, ":memory:") || set.Get("mode") == "memory"
	params := defaults(set, memory)
	if query != "" {
		params = append([]string{query}, params...)
	}
	return sqlopen.Target{Address: name, Dialector: sqlite.Open(sqlitedsn.Absolute(path + "?" + strings.Join(params, "&"))), Single: memory}, nil
}

// defaults returns the parameters to add to those in set.
func defaults(set url.Values, memory bool) []string {
	var add []string
	has := func(pragma string) bool {
		return slices.ContainsFunc(set["_pragma"], func(p string) bool { return strings.HasPrefix(strings.ToLower(strings.TrimSpace(p)), pragma) })
	}
	if !has("busy_timeout") {
		add = append(add, "_pragma=busy_timeout(5000)")
	}
	readOnly := set.Get("mode") == "ro" || set.Get("immutable") == "1"
	if !has("journal_mode") && !memory && !readOnly && set.Get("vfs") == "" {
		add = append(add, "_pragma=journal_mode(WAL)")
	}
	if !set.Has("_txlock") && !readOnly {
		add = append(add, "_txlock=immediate")
	}
	return add
}
