package sqlconn

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/lease"
)

// codeOf returns the number or SQLSTATE of a driver's error. It imports no driver, but
// looks for a method SQLState (pgx, lib/pq), a field Number (go-sql-driver/mysql), or a
// method or field Code (modernc.org/sqlite, go-sqlite3).
func codeOf(err error) (number int64, state string) {
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		return 0, s.SQLState()
	}
	var c interface{ Code() int }
	if errors.As(err, &c) {
		return int64(c.Code()), ""
	}
	return numberOf(err), ""
}

func numberOf(err error) int64 {
	if err == nil {
		return 0
	}
	if v := reflect.Indirect(reflect.ValueOf(err)); v.Kind() == reflect.Struct {
		for _, name := range []string{"Number", "Code"} {
			if n := v.FieldByName(name); n.CanInt() || n.CanUint() {
				return n.Convert(reflect.TypeFor[int64]()).Int()
			}
		}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if n := numberOf(err); n != 0 {
				return n
			}
		}
	}
	return numberOf(errors.Unwrap(err))
}

// Transient reports whether a statement lost against another and changed nothing.
func (c *Conn) Transient(err error) bool {
	return c.is(err, c.dialect.transient)
}

// TableMissing reports whether a table may be missing.
func (c *Conn) TableMissing(err error) bool {
	return c.is(err, c.dialect.noTable)
}

// UsedUp reports whether no ticket is left.
func (c *Conn) UsedUp(err error) bool { return c.is(err, c.dialect.usedUp) }

// readOnly reports whether the server refuses writes.
func (c *Conn) readOnly(err error) bool {
	text := c.dialect.readOnlyText
	return c.is(err, c.dialect.readOnly) || text != "" && strings.Contains(err.Error(), text)
}

// Wrap adds to err the attempted operation, the database, and the remedy if it is known. It
// returns answers of the protocol unchanged.
func (c *Conn) Wrap(ctx context.Context, what string, err error) error {
	if err == nil || answer(err) {
		return err
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	hint, setup := "", ""
	switch {
	case errors.As(err, new(advised)):
	case errors.Is(err, lease.ErrDamaged):
		hint = ": " + c.tables.Damaged
	case strings.Contains(err.Error(), "sql: database is closed"): // database/sql exports no such error
		setup = "it was closed before this call: close it after the last one"
	case c.is(err, c.dialect.login):
		setup = "check the user and the password in the DSN"
	case c.is(err, c.dialect.noDatabase):
		setup = "create the database, or correct its name in the DSN"
	case c.is(err, c.dialect.cannotOpen):
		setup = "check that the folder of the file exists and can be written to"
	case c.is(err, c.dialect.movedFile):
		hint = ": the file was deleted or replaced while it was in use: stop all processes before you do that"
	case c.dialect.file && c.readOnly(err): // which no failover cures
		setup = "the file or the folder is read-only: " + makeWritable
	case c.dialect.hint(err) != "":
		hint = ": " + c.dialect.hint(err)
	case c.readOnly(err):
		hint = ": the server is read-only or a replica: use the DSN of the primary"
	case c.is(err, c.dialect.denied):
		setup = fmt.Sprintf("%s; if it may not create tables, run %s once manually", c.grants(), c.definition())
	}
	if setup != "" {
		err, hint = Advise(err), ": "+setup
	}
	return fmt.Errorf("dbseq: %s on %s: %w%s", what, c.Name, dsn.Hide(err, ""), hint)
}

// advised is the type of the errors that Advise returns.
type advised struct{ error }

// Advise makes err, whose message includes the remedy, a setup error.
func Advise(err error) error { return advised{err} }

func (e advised) Unwrap() []error { return []error{e.error, lease.ErrSetup} }

// answer reports whether err is an answer of the protocol, not a failure.
func answer(err error) bool {
	for _, e := range []error{lease.ErrLost, lease.ErrExists, numberstore.ErrUnknown, numberstore.ErrEnd, numberstore.ErrExists, numberstore.ErrClock} {
		if errors.Is(err, e) {
			return true
		}
	}
	return errors.As(err, new(*lease.NoFreeWorkerError)) || errors.As(err, new(*lease.QuarantineError)) ||
		errors.As(err, new(*lease.MismatchError)) || errors.As(err, new(*lease.ClockError))
}
