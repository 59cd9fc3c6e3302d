// Package numberstore is the contract between the packages that issue small numbers, such as
// numbers, and the stores that reserve them.
package numberstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

// MaxReservation is the maximum number of numbers in one reservation.
const MaxReservation = 1_000_000_000

const maxName = 128 // characters, without the slash

// A Store reserves numbers. It is safe for concurrent use by any number of processes. A
// Store may also implement Creator, and fmt.Stringer to name it in logs; that name must
// not contain secrets.
type Store interface {
	// Reserve takes numbers of r.Name for the caller alone, in one atomic step. It returns 1 to r.N
	// consecutive numbers. All are greater than r.Above and than any number that the store has
	// issued for the name before, and none is greater than r.Max. It is not an error to return fewer
	// than r.N.
	//
	// Each call is one attempt and returns when ctx ends. Errors: ErrUnknown, ErrEnd, ErrClock,
	// ErrRequest; nothing was reserved. After any other error the outcome is unknown, and numbers
	// may have been reserved that no caller gets.
	Reserve(ctx context.Context, r Request) (Range, error)
}

// A Creator creates names.
type Creator interface {
	// Create creates a name whose first number is start, at least 1.
	//
	// Errors: ErrExists, ErrRequest.
	Create(ctx context.Context, name string, start int64) error
}

// A Request asks for numbers. Whoever makes it has checked its fields, as part of a configuration.
type Request struct {
	// Name is the name of a record: see Key.
	Name string
	// N is the maximum number of numbers to reserve, 1 to MaxReservation.
	N int64
	// Above is the greatest number that the caller has seen in use, or 0. It brings a store up to
	// date that has lost reservations.
	Above int64
	// Max is the greatest number allowed, at least Start.
	Max int64
	// Start is the first number if this request creates the name, at least 1.
	Start int64
	// Create allows the store to create the name.
	Create bool
	// Beside, if not "", is another name in the store. Unless the greatest number issued for it lies
	// in Given, nothing is reserved, and the error is ErrUnknown. The check and the reservation are
	// one atomic step. A store that cannot do that returns ErrRequest.
	Beside string
	Given  Range
	// Family, if not "", is a common prefix of names, such as "/a.b.". The name "/count.a.b." counts how
	// many of them were created. If one of them or the count is missing, no name is created, and the
	// error is ErrUnknown. The count is itself of the family "/count.a.", unless Family is Root, so that
	// a family stays small enough to be counted. A store without Beside ignores Family.
	Family, Root string
	// Heads, if not "", is a prefix of Name, which then is not of the Family. Creating the first of
	// all names with that prefix begins the count of Family.
	Heads string
	// NotBefore and NotAfter, if NotAfter is not 0, are Unix milliseconds of the store's clock.
	// Unless the clock lies between them, inclusive, nothing is reserved, and the error is ErrClock.
	// A store that cannot check that in the same step returns ErrRequest.
	NotBefore, NotAfter int64
}

// A Reader is a Store that reports the greatest number it has issued.
type Reader interface {
	Store
	// HighWater returns the greatest number issued for a name, or 0. Errors: ErrUnknown, ErrRequest.
	HighWater(ctx context.Context, name string) (int64, error)
}

// InTx is a Reader and Creator in a database. It can list its names, and reserve in a transaction of
// the application, so that a rollback returns the numbers.
type InTx interface {
	Reader
	Creator
	// Names calls each for every name with a prefix, in sorted order, with the greatest number issued
	// for it. It ends with the first error of each, and creates no table.
	Names(ctx context.Context, prefix string, each func(name string, given int64) error) error
	// In returns a store for the duration of a transaction. It creates no table. Reserve may also
	// return ErrTransaction.
	In(tx Tx) Reader
}

// Tx is a transaction of database/sql: a *sql.Tx, a *sqlx.Tx, the field Tx of a bun.Tx (which
// itself rewrites statements), or the result of gormdb.Tx.
type Tx interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	Commit() error
	Rollback() error
}

// CheckClock returns an ErrClock unless the store's clock, in Unix milliseconds, allows r.
func (r Request) CheckClock(now int64) error {
	if r.NotAfter == 0 || now >= r.NotBefore && now <= r.NotAfter {
		return nil
	}
	at := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }
	return fmt.Errorf("%w: %q is asked for a number between %s and %s, and the clock of the store is at %s: set the clocks by NTP", ErrClock, r.Name, at(r.NotBefore), at(r.NotAfter), at(now))
}

// A Range is the numbers from First to Last, both inclusive.
type Range struct{ First, Last int64 }

// Len returns the count of numbers in r.
func (r Range) Len() int64 { return r.Last - r.First + 1 }

// Key returns the name of a record, made of a namespace and a name. The counters of package
// history, which namespaces share, have no namespace.
func Key(namespace, name string) string { return namespace + "/" + name }

// Periods is the prefix of the names that record the periods and starts of series: a namespace, a dot
// and the name of the series follow, which has no dot. Their number is a hash; none was issued.
const Periods = "/period."

// CheckName returns an ErrRequest unless name has the form of a Key, with at most 128 characters of
// A-Z a-z 0-9 . _ - in addition to the slash.
func CheckName(name string) error {
	namespace, rest, ok := strings.Cut(name, "/")
	all := namespace + rest
	if !ok || len(all) > maxName || strings.Trim(all, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") != "" {
		return fmt.Errorf("%w: the name %s is not a namespace, a slash and a name, such as shop/orders, with at most %d characters of A-Z a-z 0-9 . _ -", ErrRequest, printable.Quote(name), maxName)
	}
	return nil
}
