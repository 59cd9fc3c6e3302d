// Package sqlite lets an application open a SQLite file from configuration, without
// cgo and without another SQL driver. See package sqldb for how, package providers for
// all drivers at once.
//
// A DSN is a path, or a URI that begins with "file:", with the parameters of
// modernc.org/sqlite:
//
//	data/orders.db
//	file:data/orders.db?_pragma=synchronous(1)
//
// Unless the DSN sets them, the journal is in WAL mode, a locked database is waited for
// (busy_timeout 5 s) and transactions begin as writers (_txlock=immediate): without
// these, processes and goroutines that write at once fail with SQLITE_BUSY.
//
// A database in memory is for tests: it has one connection, which everything shares,
// and a second use within a transaction waits for ever.
package sqlite

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/libtnb/sqlite"
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/providers/sqldb"
)

// Module provides a *gorm.DB on SQLite from a sqldb.Config.
var Module = fx.Module("sqlite", fx.Provide(sqldb.New(Driver())))

// Driver returns the driver with the name sqlite, for sqldb.New and sqldb.Open. The
// file is opened, and made where it is missing, by the constructor; its folder must
// exist.
func Driver() sqldb.Driver {
	return sqldb.Driver{
		Name: "sqlite",
		Form: "data/orders.db or file:data/orders.db?_pragma=busy_timeout(5000)",
		Hint: "that the folder of the file exists and may be written to, and the parameters in db.dsn",
		Open: open,
		Busy: busy,
	}
}

// busy: another process has the file for itself for a moment. The change to WAL, which
// the first connection to a new file makes, does not wait for the busy_timeout.
func busy(err error) bool {
	const sqliteBusy, primary = 5, 0xff
	var e interface{ Code() int }
	return errors.As(err, &e) && e.Code()&primary == sqliteBusy
}

func open(_ context.Context, dsn string, _ time.Duration) (sqldb.Target, error) {
	path, query, _ := strings.Cut(dsn, "?")
	if !IsPath(path) {
		return sqldb.Target{}, errors.New("it is no path of a file")
	}
	set, err := url.ParseQuery(query)
	if err != nil {
		return sqldb.Target{}, errors.New("its parameters cannot be read")
	}
	name := strings.TrimPrefix(path, "file:")
	// Another connection would see another database; vfs=memdb is one for all that
	// name it.
	memory := name == "" || strings.Contains(name, ":memory:") || set.Get("mode") == "memory"
	params := defaults(set, memory)
	if query != "" {
		params = append([]string{query}, params...)
	}
	if len(params) > 0 {
		path += "?" + strings.Join(params, "&")
	}
	return sqldb.Target{Address: name, Dialector: sqlite.Open(path), Single: memory}, nil
}

// IsPath reports whether a DSN can name a file. That of another database does not: a file
// would be made, named after its password.
func IsPath(dsn string) bool {
	path, _, _ := strings.Cut(strings.TrimPrefix(dsn, "file:"), "?")
	_, login, _ := strings.Cut(path, ":")
	return !strings.Contains(path, "://") && !strings.Contains(login, "@") && !strings.Contains(path, "password=")
}

// defaults returns the parameters that are added to those set.
func defaults(set url.Values, memory bool) []string {
	var add []string
	has := func(pragma string) bool {
		for _, p := range set["_pragma"] {
			if strings.HasPrefix(strings.ToLower(strings.TrimSpace(p)), pragma) {
				return true
			}
		}
		return false
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
