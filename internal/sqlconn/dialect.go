package sqlconn

import (
	"cmp"
	"context"
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
// them, and schema/NAME.sql creates the tables of a package. To add an engine, see
// CONTRIBUTING.md. TestDialects knows which fields each dialect needs; the others may be zero.
type dialect struct {
	name Dialect
	file bool // which one connection writes to: no server, accounts or replicas

	// SQL expressions. clock is the server's in Unix milliseconds, whatever the time zone of
	// the session, and one value within a statement. incarnation identifies the process that
	// runs a statement, since acknowledged writes can be lost only if another one answers; it
	// is NULL if the server does not reveal a part of it.
	clock, incarnation string
	// quote is what names are quoted with.
	quote string
	// commits reports whether a connection may be set to commit no statement on its own.
	commits bool
	// variant returns the incarnation by the settings of the server, or why it cannot be used.
	variant func(c *Conn, has map[string]string) (incarnation string, err error)
	// same compares an incarnation on record with the present one.
	same func(incarnation string) string
	// numbers selects n from 0 to :pool - 1, or more.
	numbers string
	// write makes text that all share one of this dialect.
	write func(text string) string
	// parameter is the n-th parameter, counted from 1. Without it, each use is a question mark.
	parameter func(n int, name string) string
	gaps      bool // see Conn.Gaps
	// returning reports whether the server has RETURNING.
	returning bool

	// session returns the DSN with the settings that the statements need, and SQL for each
	// new connection.
	session func(dsn string, d driver.Driver) (set, setup string)
	// check refuses a database on which uniqueness would not hold.
	check func(ctx context.Context, c *Conn) error

	// drivers are the packages that register the drivers that Open knows.
	drivers map[string]string
	// misread returns an error if the driver would create a file with a password in its name, or let
	// the server read files. It shows no part of the DSN.
	misread func(dsn string) error
	// place returns where the database is, for people, without user, password and parameters. It
	// leaves out what it cannot parse with certainty.
	place func(dsn string) string
	// inMemory reports whether the database is in memory. A second connection would see another
	// database, or none.
	inMemory func(dsn string) bool

	// examine judges the settings of the server.
	examine func(x *examination, ctx context.Context, has map[string]string)
	// crashSafe is by what ALTER TABLE makes a table survive a crash.
	crashSafe string
	// remedy returns what to do about an error, if no code says that.
	remedy func(err error) string
	codes
}

// codes are error numbers or SQLSTATEs by the reaction to them.
type codes struct {
	// transient: the statement lost against another and changed nothing, so it is tried again.
	// Every change but a ticket is conditional, so a commit whose outcome is unknown is too.
	transient []string
	readOnly  []string // or a replica
	// readOnlyText is a part of the text of an error of a replica that has no such code.
	readOnlyText string
	denied       []string // to the account
	noTable      []string
	usedUp       []string // no ticket is left: the id is taken, out of range, or cannot be read
	// unreadable: a part of the incarnation is unknown or denied.
	unreadable []string

	// A start ends at once by these, as the application's own ping of the database does.
	login, noDatabase, cannotOpen []string
	// readOnlyFile is mended by no failover. The file of movedFile was replaced while it was open.
	readOnlyFile, movedFile []string
	// extended: the last byte of a number is a code too, a more general one.
	extended bool
}

// dialects are those that New and Open know.
var dialects = map[Dialect]*dialect{MySQL: &mysql, Postgres: &postgres, SQLite: &sqlite}

// Gaps reports whether an UPDATE of a missing row locks the gap that it would be in, so that two
// transactions that then insert it wait for each other.
func (c *Conn) Gaps() bool { return c.dialect.gaps }

// is reports whether err has one of the codes.
func (c *Conn) is(err error, codes []string) bool {
	if err == nil || len(codes) == 0 {
		return false
	}
	number, state := codeOf(err)
	return slices.Contains(codes, cmp.Or(state, strconv.FormatInt(number, 10))) ||
		c.dialect.extended && slices.Contains(codes, strconv.FormatInt(number&0xff, 10))
}

// nameOf returns a name of the database for people.
func (d *dialect) nameOf(dsn string) string {
	if place := d.place(dsn); place != "" {
		return string(d.name) + " " + place
	}
	return string(d.name)
}
