package dbseq

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/snowlease/snowlease/internal/dsn"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/segment"
)

// Bounds of the numbers read. Tokens and versions start at the clock and rise by one, so a slot
// is lent only while its own leave room for what its holder adds.
const (
	topTime  int64 = 999_999_999_999_999
	topToken int64 = 899_999_999_999_999
	topLent  int64 = topToken - 1_000_000_000
)

// sound is the SQL condition that the numbers of a slot are within their bounds, so
// that no statement makes one of them too large for its column.
var sound = fmt.Sprintf("ver BETWEEN 0 AND %d AND token BETWEEN 0 AND %[1]d AND expires_ms BETWEEN 0 AND %d AND hwm_ms BETWEEN 0 AND %[2]d", topToken, topTime)

// within returns lease.ErrDamaged unless n is 0 to most.
func within(what string, n, most int64) error {
	if n < 0 || n > most {
		return fmt.Errorf("%w: %s is %d, not 0 to %d", lease.ErrDamaged, what, n, most)
	}
	return nil
}

// pinSize returns lease.ErrDamaged for a pin that is longer than any that dbseq has written, of
// which only the begin was read.
func pinSize(pin string) error {
	if len(pin) > 1024 {
		return fmt.Errorf("%w: the pin has more than 1024 bytes", lease.ErrDamaged)
	}
	return nil
}

// check returns lease.ErrDamaged if a number of the slot is out of bounds.
func (r record) check() error {
	of := func(column string) string { return fmt.Sprintf("%s of worker id %d", column, r.worker) }
	return cmp.Or(
		within("slot", r.worker, lease.MaxPool-1), within(of("token"), r.token, topToken), within(of("ver"), r.ver, topToken),
		within(of("since_ms"), r.since, topTime), within(of("floor_ms"), r.floor, topTime),
		within(of("expires_ms"), r.expires, topTime), within(of("hwm_ms"), r.mark, topTime),
	)
}

// lendable is check for a slot that is about to get another token and version.
func (r record) lendable() error {
	of := func(column string) string { return fmt.Sprintf("%s of worker id %d", column, r.worker) }
	return cmp.Or(r.check(), within(of("token"), r.token, topLent), within(of("ver"), r.ver, topLent))
}

// codeOf returns the number or SQLSTATE of a driver's error. It imports no driver, but
// looks for a method SQLState (pgx, lib/pq), a field Number (go-sql-driver/mysql), or a
// method or field Code (SQLite).
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

// Error codes by the reaction to them.
var (
	// Deadlock, lock wait timeout, record has changed since last read; rolled back by group
	// replication, and failed to commit, which is its deadlock too. A commit that fails for
	// another reason may be repeated as well: every change but a ticket is
	// conditional.
	transientMySQL = []int64{1213, 1205, 1020, 3101, 1180}
	readOnlyMySQL  = []int64{1290, 1792, 1836, 1015, 1036} // the last ones by innodb_read_only
	deniedMySQL    = []int64{1044, 1142, 1143, 1227}

	transientState = []string{"40001", "40P01", "55P03"} // serialization failure, deadlock, lock not available
	readOnlyState  = []string{"25006"}
	deniedState    = []string{"42501"}

	// A start ends at once by these, as the application's own ping of the database does.
	loginMySQL      = []int64{1045, 1698}        // 1698: MariaDB, of an account without a password
	loginState      = []string{"28000", "28P01"} // 28000: an unknown account, or none that pg_hba.conf admits
	noDatabaseMySQL = []int64{1049}
	unnamedMySQL    = []int64{1046} // the DSN names no database
	noDatabaseState = []string{"3D000"}
	cannotOpen      = []int64{14}

	unreadableMySQL = append([]int64{1109, 1146, 1193, 1370}, deniedMySQL...) // unknown table, unknown variable, routine denied
	unreadableState = append([]string{"42883"}, deniedState...)               // unknown function

	// MySQL: the id is taken, out of range, or cannot be read. PostgreSQL: the id is
	// taken, or the sequence is at its end. SQLite: full, the code of a full disk too.
	usedUpMySQL  = []int64{167, 1062, 1264, 1467}
	usedUpState  = []string{"23505", "2200H"}
	usedUpSQLite = []int64{13}

	transientSQLite = []int64{5, 6} // busy, locked
	readOnlySQLite  = []int64{8}
	movedSQLite     = int64(1032) // one of them; noticed only without WAL
)

func (c *conn) is(err error, mysqlCodes []int64, states []string, sqliteCodes []int64) bool {
	n, state := codeOf(err)
	switch c.dialect {
	case MySQL:
		return slices.Contains(mysqlCodes, n)
	case Postgres:
		return slices.Contains(states, state)
	}
	return slices.Contains(sqliteCodes, n&0xff)
}

// transient reports whether a statement lost against another and changed nothing.
func (c *conn) transient(err error) bool {
	return err != nil && c.is(err, transientMySQL, transientState, transientSQLite)
}

// tableMissing reports whether a table may be missing. SQLite has no specific code for
// that.
func (c *conn) tableMissing(err error) bool {
	return err != nil && c.is(err, []int64{1146}, []string{"42P01"}, []int64{1})
}

// readOnly reports whether the server refuses writes.
func (c *conn) readOnly(err error) bool {
	return c.is(err, readOnlyMySQL, readOnlyState, readOnlySQLite) ||
		c.dialect == Postgres && strings.Contains(err.Error(), "recovery is in progress")
}

// wrap adds to err what was attempted on which database, and what to do if that is
// known. It returns answers of the protocol unchanged.
func (c *conn) wrap(ctx context.Context, what string, t tables, err error) error {
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
		hint = ": " + t.damaged
	case strings.Contains(err.Error(), "sql: database is closed"): // database/sql exports no such error
		setup = "it was closed before this call: close it after the last one"
	case c.is(err, loginMySQL, loginState, nil):
		setup = "check the user and the password in the DSN"
	case c.is(err, noDatabaseMySQL, noDatabaseState, nil):
		setup = "create the database, or correct its name in the DSN"
	case c.is(err, unnamedMySQL, nil, nil):
		setup = "name the database in the DSN, as in user:password@tcp(host:3306)/name"
	case c.is(err, nil, nil, cannotOpen):
		setup = "check that the folder of the file exists and can be written to"
	case c.dialect == SQLite && numberOf(err) == movedSQLite:
		hint = ": the file was deleted or replaced while it was in use: stop all processes before you do that"
	case c.is(err, nil, nil, readOnlySQLite):
		setup = "the file or the folder is read-only: make both writable, without mode=ro in the DSN"
	case c.dialect == Postgres && poolerHint(err) != "":
		hint = ": " + poolerHint(err)
	case c.dialect == SQLite && errors.Is(err, context.DeadlineExceeded):
		hint = ": on SQLite only one transaction writes at a time: do not call this within a transaction that writes"
	case c.readOnly(err):
		hint = ": the server is read-only or a replica: use the DSN of the primary"
	case c.is(err, deniedMySQL, deniedState, nil):
		setup = fmt.Sprintf("%s; if it may not create tables, run %s once by hand", c.grants(t), c.definition(t))
	}
	if setup != "" {
		err, hint = advised{err}, ": "+setup
	}
	return fmt.Errorf("dbseq: %s on %s: %w%s", what, c.name, dsn.Hide(err, ""), hint)
}

// poolerHints are remedies for errors of PgBouncer, and for those that its mixing of
// sessions causes, by a part of their text.
var poolerHints = [][2]string{
	{"query_wait_timeout", "PgBouncer has no free connection to the server: raise default_pool_size, or give snowlease an account of its own, which gets a pool of its own"},
	{"another search_path was set", "a pooler shares connections with a client that sets a search_path: give snowlease an account of its own, which gets a pool of its own"},
	{"statement pooling mode", "set pool_mode = transaction (or session) in PgBouncer"},
	{"unsupported startup parameter", "PgBouncer refuses this setting of the DSN: remove it there, and set it by ALTER ROLE"},
	{`prepared statement "`, "a pooler mixes up prepared statements: set default_query_exec_mode=exec in the DSN"},
}

func poolerHint(err error) string {
	for _, h := range poolerHints {
		if strings.Contains(err.Error(), h[0]) {
			return h[1]
		}
	}
	return ""
}

// advised is a setup error whose text already says what to do.
type advised struct{ error }

func (e advised) Unwrap() []error { return []error{e.error, lease.ErrSetup} }

var errAutocommit = advised{errors.New("autocommit is off on a connection, so what it writes may never be committed: use a pool with autocommit=1 in its DSN, where nothing turns it off")}

// A clock is where the server's clock is scanned to.
type clock int64

// Scan implements sql.Scanner. On MySQL, the clock is NULL if autocommit is off, so that
// neither a condition nor a value can be computed from it.
func (c *clock) Scan(v any) error {
	if v == nil {
		return errAutocommit
	}
	var n sql.NullInt64
	err := n.Scan(v)
	*c = clock(n.Int64)
	return err
}

// answer reports whether err is an answer of the protocol, not a failure.
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
