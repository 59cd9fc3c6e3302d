package sqlconn

import (
	"cmp"
	"context"
	"database/sql/driver"
	"slices"
	"strconv"
	"strings"
)

// A dialect is the part of the package that differs between kinds of database. The statements of
// sql/lease.sql and segment.sql are the same for all; those in sql/NAME.sql replace
// or complete them, and schema/NAME.sql creates the tables of a package. To add an engine, see
// CONTRIBUTING.md. TestDialects lists the fields that each dialect needs; the others may be zero.
type dialect struct {
	name string
	file bool // a file that one connection at a time writes: no server, accounts or replicas

	// SQL expressions. clock is the server's time in Unix milliseconds, whatever the time zone of
	// the session; it is constant within a statement. incarnation identifies the process that runs a
	// statement, since acknowledged writes can be lost only if another process answers; it is NULL
	// if the server does not reveal a part of it.
	clock, incarnation string
	// quote is the character that quotes names.
	quote string
	// commits is set if a connection may have autocommit off.
	commits bool
	// repeats is a condition that is true where a replica runs a statement again, which then does what
	// it did on the primary.
	repeats string
	// variant returns the incarnation expression for the server's settings, or why there is none.
	variant func(c *Conn, has map[string]string) (incarnation string, err error)
	// numbers selects n from 0 to :pool - 1 or more.
	numbers string
	// write translates a common statement into this dialect.
	write func(text string) string
	// parameter is the n-th parameter, counted from 1. If it is nil, each use is a question mark.
	parameter func(n int, name string) string
	gaps      bool // see Conn.Gaps
	// returning reports whether the server has RETURNING.
	returning bool

	// session returns the DSN with the settings that the statements need, and SQL for each
	// new connection.
	session func(dsn string, d driver.Driver) (set, setup string)
	// check refuses a database on which uniqueness would not hold.
	check func(ctx context.Context, c *Conn) error

	// place returns the location of the database for people, without user, password and parameters.
	// It leaves out what it cannot parse with certainty.
	place func(dsn string) string

	// examine judges the settings of the server.
	examine func(x *examination, ctx context.Context, has map[string]string)
	// crashSafe is the ALTER TABLE clause that makes a table survive a crash.
	crashSafe string
	// hints are remedies for errors without a code of their own, by a part of their messages.
	hints [][2]string
	codes
}

// codes are error numbers or SQLSTATEs, grouped by the reaction to them.
type codes struct {
	// transient: the statement lost against another and changed nothing, so it is retried. Every
	// change except a ticket is conditional, so a commit whose outcome is unknown is retried too.
	transient []string
	readOnly  []string // or a replica
	// readOnlyText is a part of the message of a replica's error that has no such code.
	readOnlyText string
	denied       []string // to the account
	noTable      []string
	usedUp       []string // no ticket is left: the id is taken, out of range, or cannot be read
	// unreadable: a part of the incarnation is unknown or denied.
	unreadable []string

	// These errors end a start immediately, like a failed ping of the application's own.
	login, noDatabase, cannotOpen []string
	movedFile                     []string // the file was replaced while it was open
	// extended: the last byte of a number is also a code, a more general one.
	extended bool
}

// dialects are the dialects that New and Open accept.
var dialects = map[string]*dialect{mysql.name: &mysql, postgres.name: &postgres, sqlite.name: &sqlite}

// drivers are those that Open knows, by name, with the packages that register them.
var drivers = map[string]struct {
	dialect *dialect
	from    string
}{
	"mysql":    {&mysql, "github.com/go-sql-driver/mysql"},
	"pgx":      {&postgres, "github.com/jackc/pgx/v5/stdlib"},
	"pgx/v5":   {&postgres, "github.com/jackc/pgx/v5/stdlib"},
	"postgres": {&postgres, "github.com/lib/pq"},
	"sqlite":   {&sqlite, "modernc.org/sqlite"},
	"sqlite3":  {&sqlite, "github.com/mattn/go-sqlite3"},
}

// Gaps reports whether an UPDATE of a missing row locks the gap of that row. Two transactions
// that then insert the row wait for each other.
func (c *Conn) Gaps() bool { return c.dialect.gaps }

// File reports whether the database is a file, of which a copy of the host has a copy.
func (c *Conn) File() bool { return c.dialect.file }

// is reports whether err has one of the codes.
func (c *Conn) is(err error, codes []string) bool {
	if err == nil || len(codes) == 0 {
		return false
	}
	number, state := codeOf(err)
	return slices.Contains(codes, cmp.Or(state, strconv.FormatInt(number, 10))) ||
		c.dialect.extended && slices.Contains(codes, strconv.FormatInt(number&0xff, 10))
}

// hint returns the remedy for an error without a code of its own, or "".
func (d *dialect) hint(err error) string {
	for _, h := range d.hints {
		if strings.Contains(err.Error(), h[0]) {
			return h[1]
		}
	}
	return ""
}

// nameOf returns a name of the database for people.
func (d *dialect) nameOf(dsn string) string {
	if place := d.place(dsn); place != "" {
		return d.name + " " + place
	}
	return d.name
}
