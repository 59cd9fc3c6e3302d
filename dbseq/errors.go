package dbseq

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/segment"
)

// ErrDamaged is returned where a row holds what no statement here has written. Nothing
// is lent then.
var ErrDamaged = errors.New("dbseq: a row is damaged: put right what is written there, or delete the row: what is lent next lies above all that it may have held")

// Bounds of what is read. Tokens and versions rise by one at a time from the clock on.
const (
	topTime  int64 = 999_999_999_999_999
	topToken int64 = 899_999_999_999_999
)

// sound is the condition of a slot whose numbers are within their bounds, so that no
// statement makes one of them too great for its column.
var sound = fmt.Sprintf("ver BETWEEN 0 AND %d AND token BETWEEN 0 AND %[1]d AND expires_ms BETWEEN 0 AND %d AND hwm_ms BETWEEN 0 AND %[2]d", topToken, topTime)

// within returns ErrDamaged unless n is 0 to most.
func within(what string, n, most int64) error {
	if n < 0 || n > most {
		return fmt.Errorf("%w: %s is %d, not 0 to %d", ErrDamaged, what, n, most)
	}
	return nil
}

// check returns ErrDamaged for a slot with a number that is out of bounds.
func (r record) check() error {
	of := func(column string) string { return fmt.Sprintf("%s of worker id %d", column, r.worker) }
	return cmp.Or(
		within("slot", r.worker, lease.MaxPool-1), within(of("token"), r.token, topToken), within(of("ver"), r.ver, topToken),
		within(of("since_ms"), r.since, topTime), within(of("floor_ms"), r.floor, topTime),
		within(of("expires_ms"), r.expires, topTime), within(of("hwm_ms"), r.mark, topTime),
	)
}

// codeOf returns the number or SQLSTATE that a driver gives an error. Drivers name it
// differently, and none is imported here: a method SQLState (pgx, lib/pq), a field
// Number (go-sql-driver/mysql), a method or field Code (SQLite).
func codeOf(err error) (number int64, state string) {
	var s interface{ SQLState() string }
	if errors.As(err, &s) {
		return 0, s.SQLState()
	}
	return numberOf(err), ""
}

func numberOf(err error) int64 {
	if err == nil {
		return 0
	}
	v := reflect.ValueOf(err)
	if m := v.MethodByName("Code"); m.IsValid() && m.Type().NumIn() == 0 && m.Type().NumOut() == 1 {
		if n, ok := integer(m.Call(nil)[0]); ok {
			return n
		}
	}
	if v = reflect.Indirect(v); v.Kind() == reflect.Struct {
		for _, name := range []string{"Number", "Code"} {
			if n, ok := integer(v.FieldByName(name)); ok {
				return n
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

func integer(v reflect.Value) (int64, bool) {
	switch {
	case !v.IsValid():
		return 0, false
	case v.CanInt():
		return v.Int(), true
	case v.CanUint():
		return int64(v.Uint()), true
	}
	return 0, false
}

// Codes of errors by what they call for.
var (
	transientMySQL = []int64{1213, 1205, 1020} // deadlock, lock wait timeout, record has changed since last read
	readOnlyMySQL  = []int64{1290, 1792, 1836}
	deniedMySQL    = []int64{1044, 1142, 1143, 1227}

	transientState = []string{"40001", "40P01", "55P03"} // serialization failure, deadlock, lock not available
	readOnlyState  = []string{"25006"}
	deniedState    = []string{"42501"}

	unreadableMySQL = append([]int64{1109, 1146, 1193, 1370}, deniedMySQL...) // unknown table, unknown variable, routine denied
	unreadableState = append([]string{"42883"}, deniedState...)               // unknown function

	// The id is taken, out of range, or cannot be read; the id is taken, the sequence is
	// at its end; SQLite says that it is full, as of the disk.
	usedUpMySQL  = []int64{167, 1062, 1264, 1467}
	usedUpState  = []string{"23505", "2200H"}
	usedUpSQLite = []int64{13}

	transientSQLite = []int64{5, 6} // busy, locked
	readOnlySQLite  = []int64{8}
)

func (c *conn) is(err error, mysqlCodes []int64, states []string, sqliteCodes []int64) bool {
	n, state := codeOf(err)
	switch c.dialect {
	case mysql:
		return slices.Contains(mysqlCodes, n)
	case postgres:
		return slices.Contains(states, state)
	}
	return slices.Contains(sqliteCodes, n&0xff)
}

// transient: the statement lost against another and changed nothing.
func (c *conn) transient(err error) bool {
	return err != nil && c.is(err, transientMySQL, transientState, transientSQLite)
}

// tableMissing: a table may not be there. SQLite has no code of its own for it.
func (c *conn) tableMissing(err error) bool {
	return err != nil && c.is(err, []int64{1146}, []string{"42P01"}, []int64{1})
}

// readOnly: the server takes no writes.
func (c *conn) readOnly(err error) bool {
	return c.is(err, readOnlyMySQL, readOnlyState, readOnlySQLite) ||
		c.dialect == postgres && strings.Contains(err.Error(), "recovery is in progress")
}

// wrap says what was attempted where, and what to do about it if that is known. What
// the protocols answer stays as it is.
func (c *conn) wrap(ctx context.Context, what string, t tables, err error) error {
	if err == nil || answer(err) {
		return err
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	hint := ""
	switch {
	case errors.As(err, new(advised)):
	case c.dialect == sqlite && errors.Is(err, context.DeadlineExceeded):
		hint = ": on SQLite a transaction that writes keeps all others from writing: the caller's own as well, where this is called within it"
	case c.readOnly(err):
		hint = ": the server is read-only or a replica: the DSN must lead to the primary"
	case c.is(err, deniedMySQL, deniedState, nil):
		err = advised{err}
		hint = fmt.Sprintf(": %s; what it may not create is made by running %s once by hand", c.grants(t), c.definition(t))
	}
	return fmt.Errorf("dbseq: %s on %s: %w%s", what, c.name, err, hint)
}

// advised is an error of the setup, which says what to do already.
type advised struct{ error }

func (e advised) Unwrap() []error { return []error{e.error, lease.ErrSetup} }

// answer: err is what the protocol says, not a failure to ask.
func answer(err error) bool {
	var (
		full       *lease.NoFreeWorkerError
		quarantine *lease.QuarantineError
		mismatch   *lease.MismatchError
		clock      *lease.ClockError
	)
	for _, e := range []error{lease.ErrLost, lease.ErrExists, segment.ErrUnknown, segment.ErrEnd, segment.ErrExists} {
		if errors.Is(err, e) {
			return true
		}
	}
	return errors.As(err, &full) ||
		errors.As(err, &quarantine) || errors.As(err, &mismatch) || errors.As(err, &clock)
}
