package dbseq

import (
	"cmp"
	"database/sql/driver"
	"slices"
	"strconv"
)

// A Dialect is a kind of SQL database.
type Dialect string

// The dialects.
const (
	MySQL    Dialect = "mysql" // also MariaDB
	Postgres Dialect = "postgres"
	SQLite   Dialect = "sqlite"
)

// A dialect is what a kind of database has of its own. The statements of sql/lease.sql,
// operator.sql and segment.sql are the same for all; those of sql/NAME.sql replace or complete
// them, and schema/NAME.sql and schema/segment_NAME.sql create the tables. To add an engine, see
// CONTRIBUTING.md.
type dialect struct {
	name Dialect

	// SQL expressions. clock is the server's in Unix milliseconds, whatever the time zone of
	// the session, and one value within a statement. incarnation identifies the process that
	// runs a statement, since acknowledged writes can be lost only if another one answers; it
	// is NULL if the server does not reveal a part of it. On MySQL it depends on the variant.
	clock, incarnation string
	// same compares an incarnation on record with the present one.
	same func(incarnation string) string
	// numbers selects n from 0 to :pool - 1, or more.
	numbers string
	// write makes text that all share one of this dialect.
	write func(text string) string
	// parameter is the n-th parameter, counted from 1. Without it, each use is a question mark.
	parameter func(n int, name string) string
	// returning reports whether the server has RETURNING.
	returning bool

	// session returns the DSN with the settings that the statements need, and SQL for each
	// new connection.
	session func(dsn string, d driver.Driver) (set, setup string)
	codes
}

// codes are error numbers or SQLSTATEs by the reaction to them.
type codes struct {
	// transient: the statement lost against another and changed nothing, so it is tried again.
	// Every change but a ticket is conditional, so a commit whose outcome is unknown is too.
	transient []string
	readOnly  []string // or a replica
	denied    []string // to the account
	noTable   []string
	usedUp    []string // no ticket is left: the id is taken, out of range, or cannot be read
	// unreadable: a part of the incarnation is unknown or denied.
	unreadable []string

	// A start ends at once by these, as the application's own ping of the database does.
	login, noDatabase, unnamed, cannotOpen []string
	// readOnlyFile is mended by no failover.
	readOnlyFile []string
}

// dialects are those that New and Open know.
var dialects = map[Dialect]*dialect{MySQL: &mysql, Postgres: &postgres, SQLite: &sqlite}

// is reports whether err has one of the codes.
func (c *conn) is(err error, codes []string) bool {
	if err == nil || len(codes) == 0 {
		return false
	}
	number, state := codeOf(err)
	if c.dialect.name == SQLite {
		number &= 0xff // without what an extended code adds
	}
	return slices.Contains(codes, cmp.Or(state, strconv.FormatInt(number, 10)))
}
