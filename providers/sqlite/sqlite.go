// Package sqlite opens a SQLite file from configuration. It uses no cgo and links no other SQL
// driver. Package providers links all drivers.
//
// A DSN is a path or a "file:" URI, with the parameters of modernc.org/sqlite:
//
//	data/orders.db
//	file:data/orders.db?_pragma=synchronous(1)
//
// The package sets three parameters unless the DSN does: the journal in WAL mode, busy_timeout of
// 5 s, and _txlock=immediate. Without them, concurrent writers fail with SQLITE_BUSY. Processes
// that create one file at the same moment may still fail with it, because SQLite does not apply
// busy_timeout to the switch to WAL.
//
// A database in memory is for tests. It has a single connection, so using the *gorm.DB within a
// transaction blocks forever.
package sqlite

import (
	"go.uber.org/fx"

	"github.com/snowlease/snowlease/providers/internal/sqlite"
	"github.com/snowlease/snowlease/providers/internal/sqlopen"
)

// Module provides a *gorm.DB on SQLite from a sqldb.Config.
var Module = fx.Module("sqlite", fx.Provide(sqlopen.New(sqlite.Driver())))
