// Package option holds what the options of package dbseq set, so that package gormdb can
// set what no option does.
package option

import (
	"database/sql"

	"github.com/snowlease/snowlease/lease"
)

// A Set is what options set.
type Set struct {
	Prefix     string
	Quarantine lease.Quarantine
	Migrate    bool

	// App is a pool of the application. If it is set, Open takes the dialect in place of a
	// driver's name, and the driver from App. Open uses App itself if the database is in
	// memory, or if Share says why it must.
	App   *sql.DB
	Share string
}
