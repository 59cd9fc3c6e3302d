// Package sqlite opens a SQLite file from configuration. It uses no cgo and links no other
// SQL driver. See package sqldb for its use, and package providers for all drivers at once.
//
// A DSN is a path or a "file:" URI, with the parameters of modernc.org/sqlite:
//
//	data/orders.db
//	file:data/orders.db?_pragma=synchronous(1)
//
// The package sets three parameters unless the DSN does: the journal in WAL mode,
// busy_timeout of 5 s, and _txlock=immediate. Without them, concurrent writers fail with
// SQLITE_BUSY. So may processes that create one file at the same moment: SQLite does not apply
// busy_timeout to the switch to WAL.
//
// A database in memory is for tests. It has one connection, so using the *gorm.DB within a
// transaction waits forever.
package sqlite

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/libtnb/sqlite"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/internal/dsn/sqlitedsn"
	"github.com/snowlease/snowlease/providers/sqldb"
)

// Module provides a *gorm.DB on SQLite from a sqldb.Config.
var Module = fx.Module("sqlite", fx.Provide(sqldb.New(Driver())))

// Driver returns the driver named sqlite, for sqldb.New and sqldb.Open. The constructor
// opens the file and creates it if it does not exist. Its folder must exist.
func Driver() sqldb.Driver {
	return sqldb.Driver{
		Name: "sqlite",
		Form: "data/orders.db or file:data/orders.db?_pragma=busy_timeout(5000)",
		Hint: "that the folder of the file exists and is writable, that the file is a SQLite database, and the parameters in db.dsn",
		Open: open,
	}
}

func open(_ context.Context, dsn string, _ time.Duration) (sqldb.Target, error) {
	path, query, _ := strings.Cut(dsn, "?")
	if !sqlitedsn.IsPath(path) {
		return sqldb.Target{}, errors.New("it is not the path of a file")
	}
	set, err := url.ParseQuery(query)
	if err != nil {
		return sqldb.Target{}, errors.New("its parameters cannot be parsed")
	}
	name := strings.TrimPrefix(path, "file:")
	// Each connection would have its own database. This is not so with vfs=memdb, whose
	// databases are shared by name.
	memory := name == "" || strings.Contains(name, ":memory:") || set.Get("mode") == "memory"
	params := defaults(set, memory)
	if query != "" {
		params = append([]string{query}, params...)
	}
	if len(params) > 0 {
		path += "?" + strings.Join(params, "&")
	}
	return sqldb.Target{Address: name, Dialector: sqlite.Open(sqlitedsn.Absolute(path)), Single: memory}, nil
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
