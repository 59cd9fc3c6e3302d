// Package sqlnumbers counts small numbers in the SQL database that an application already uses.
package sqlnumbers

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/internal/numberstore"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/sqlconn"
)

var (
	_ numberstore.InTx = (*Store)(nil)
	_ fmt.Stringer     = (*Store)(nil)
)

// A Store reserves numbers in the table snowlease_segment: see Numbers of a dbseq.Center.
type Store struct {
	conn *sqlconn.Conn
	seen *names
	pool *Store         // the store that In was called on, or nil
	tx   numberstore.Tx // the argument of In
}

//go:embed sql/*.sql schema/*.sql
var files embed.FS

var tables = sqlconn.Tables{
	Files:   files,
	Schema:  "internal/sqlnumbers/schema",
	Names:   []string{"segment"},
	Rights:  "SELECT, INSERT and UPDATE on the table snowlease_segment",
	Damaged: "set max_id of its row to the greatest number in use anywhere, or of backdated ids to the maximum; without the row, numbers would start over",
}

// Beside returns a store in the database of a center, and the store's connection.
func Beside(c *sqlconn.Conn) (*Store, *sqlconn.Conn) {
	own := c.Beside(tables)
	return &Store{conn: own, seen: new(names)}, own
}

// Close closes the store's own pool, if it has one. The next call opens the pool again.
func (s *Store) Close() error {
	defer s.conn.Reopen()
	return s.conn.Close()
}

// Warnings returns the dangers of the connection, for the log at the start.
func (s *Store) Warnings() []string { return s.conn.Warnings() }

// String returns the name of the database without secrets, such as "mysql 127.0.0.1:3306/app". On
// a given pool it is only the dialect.
func (s *Store) String() string { return s.conn.Name }

// Reserve implements numberstore.InTx. It takes one statement once the name exists, and may return
// lease.ErrDamaged, too.
func (s *Store) Reserve(ctx context.Context, r numberstore.Request) (got numberstore.Range, err error) {
	added := false // a name that is missing again was lost, perhaps after other callers got numbers
	err = s.with(ctx, "reserve numbers of %q", r.Name, func(ctx context.Context) error {
		err := s.outside(ctx, r)
		if err == nil {
			got, err = s.reserve(ctx, r, &added)
		}
		return err
	})
	return got, err
}

// In returns a store that reserves in a transaction of the application, so that a rollback
// returns the numbers and leaves no gap. Until the transaction ends, all other callers wait if
// they request numbers of the same name. The transaction must be of the database of s, which must
// have answered a call before, such as HighWater. A statement that fails, such as after a
// deadlock, may end the transaction, and is not repeated. On MySQL and MariaDB a new name is
// created on another connection, if the pool has one available.
func (s *Store) In(tx numberstore.Tx) numberstore.Reader {
	return &Store{conn: s.conn, seen: s.seen, pool: s, tx: tx}
}

// outside creates the name outside of the transaction of s, if it has one, and if two transactions
// that create it could lock each other out. Inside the transaction there is no SELECT, because the
// first one would determine the rows that the transaction sees: with innodb_snapshot_isolation,
// MariaDB then refuses to change rows that others have changed since.
func (s *Store) outside(ctx context.Context, r numberstore.Request) error {
	if _, seen := s.seen.Load(r.Name); seen || s.pool == nil || !s.conn.Gaps() || !r.Create {
		return nil
	}
	// The transaction creates the name if its pool has no other connection available, or if creating
	// it waits for a lock of this transaction.
	if pool := s.conn.Pool().Stats(); !s.conn.Own && pool.MaxOpenConnections > 0 && pool.InUse >= pool.MaxOpenConnections {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	row, there, err := s.pool.given(ctx, r.Name)
	if err == nil && !there {
		if err := r.CheckClock(row.now); err != nil {
			return err
		}
		err = s.pool.Create(ctx, r.Name, r.Start)
	}
	if err == nil || errors.Is(err, numberstore.ErrExists) {
		s.seen.add(r.Name)
	}
	return nil
}

// names are some of the names in the table.
type names struct {
	sync.Map
	added atomic.Int64
}

func (n *names) add(name string) {
	if n.added.Add(1)%10_000 == 0 { // bounds the memory; a forgotten name is looked up again
		n.Clear()
	}
	n.Store(name, true)
}

// Create creates a name for administrators. The name includes the namespace, such as shop/orders.
// Its first number is start, at least 1. Errors: numbers.ErrExists, numberstore.ErrRequest.
func (s *Store) Create(ctx context.Context, name string, start int64) error {
	if err := numberstore.CheckName(name); err != nil {
		return err
	}
	return s.with(ctx, "create %q", name, func(ctx context.Context) error {
		n, err := s.conn.Exec(ctx, nil, "add", sqlconn.Args{"name": name, "start": start})
		if err == nil && n == 0 {
			if _, _, err = s.given(ctx, name); err == nil {
				err = fmt.Errorf("%w: %q", numberstore.ErrExists, name)
			}
		}
		return err
	})
}

// HighWater returns the greatest number issued for a name, or 0. Errors: numbers.ErrUnknown,
// lease.ErrDamaged.
func (s *Store) HighWater(ctx context.Context, name string) (given int64, err error) {
	err = s.with(ctx, "look at %q", name, func(ctx context.Context) (err error) {
		row, there, err := s.given(ctx, name)
		if err == nil && !there {
			err = noName(name)
		}
		given = row.id
		return err
	})
	return given, err
}

// Names implements numberstore.InTx. It reads 1000 names at a time.
func (s *Store) Names(ctx context.Context, prefix string, each func(name string, given int64) error) error {
	from, end := prefix, "{" // no name has a character at or above {
	if prefix != "" {
		end = below(prefix)
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	type row struct {
		name string
		id   int64
	}
	err := s.conn.Server(ctx, false)
	for more := err == nil; more; {
		var rows []row
		rows, err = sqlconn.All(ctx, s.conn, nil, "names", sqlconn.Args{"name": from, "below": end}, func(r *row) []any { return []any{&r.name, &r.id} })
		for _, r := range rows {
			if err := each(r.name, r.id); err != nil {
				return err
			}
			from = r.name + "-" // the next name, because no character is below -
		}
		more = len(rows) == 1000
	}
	if err = s.conn.Wrap(ctx, "list the names of numbers", err); s.conn.TableMissing(err) {
		return nil // no number was ever issued
	}
	return err
}

// given is the greatest number issued, and the server's clock at the time of the read.
type given struct{ now, id int64 }

func (s *Store) given(ctx context.Context, name string) (row given, there bool, err error) {
	row, there, err = sqlconn.One(ctx, s.conn, s.tx, "given", sqlconn.Args{"name": name}, func(g *given) []any { return []any{&g.now, &g.id} })
	if err == nil && !there { // no row to read the clock with
		row.now, err = s.conn.Now(ctx, s.tx)
	}
	if err == nil {
		err = rules.CheckGiven("max_id", row.id)
	}
	return row, there, err
}

func noName(name string) error {
	return fmt.Errorf("%w: %q: %s", numberstore.ErrUnknown, name, fault.CreateName(name))
}

// args returns the arguments of the statement reserve.
func args(r numberstore.Request) sqlconn.Args {
	a := sqlconn.Args{"name": r.Name, "n": r.N, "max": r.Max, "above": r.Above, "start": r.Start, "notbefore": int64(1), "notafter": int64(math.MaxInt64)}
	if r.NotAfter > 0 {
		a["notbefore"], a["notafter"] = r.NotBefore, r.NotAfter
	}
	return a
}

func (s *Store) reserve(ctx context.Context, r numberstore.Request, added *bool) (numberstore.Range, error) {
	a, statement := args(r), "reserve"
	if r.Beside != "" {
		statement, a = "reserve_beside", a.With(sqlconn.Args{"beside": r.Beside, "from": r.Given.First, "to": r.Given.Last})
	}
	for round := range sqlconn.Rounds {
		first, done, err := s.conn.Change(ctx, s.tx, statement, a)
		if done {
			return numberstore.Range{First: first, Last: first + min(r.N-1, r.Max-first)}, nil
		}
		if err == nil {
			err = s.missed(ctx, r, a, round, added)
		}
		if err != nil {
			return numberstore.Range{}, err
		}
	}
	return numberstore.Range{}, sqlconn.Unsettled()
}

// missed returns why a round reserved nothing, or nil if the next round may succeed because the
// name now exists.
func (s *Store) missed(ctx context.Context, r numberstore.Request, a sqlconn.Args, round int, added *bool) error {
	if r.Beside != "" {
		if beside, there, err := s.given(ctx, r.Beside); err != nil {
			return err
		} else if !there || beside.id < r.Given.First || beside.id > r.Given.Last {
			return fmt.Errorf("%w: %q has not given %d to %d", numberstore.ErrUnknown, r.Beside, r.Given.First, r.Given.Last)
		}
	}
	row, there, err := s.given(ctx, r.Name)
	last := max(row.id, r.Above)
	switch {
	case err != nil:
		return err
	case r.CheckClock(row.now) != nil:
		return r.CheckClock(row.now)
	case (there || r.Create && !*added) && last >= r.Max:
		return fmt.Errorf("%w: %q is at %d of %d", numberstore.ErrEnd, r.Name, last, r.Max)
	case there && s.tx != nil && round > 0: // under REPEATABLE READ of MySQL, a change sees more than a SELECT
		return fmt.Errorf("%w: others have changed %q since the transaction first read: run it again", numberstore.ErrUnavailable, r.Name)
	case there: // created since the update
		return nil
	case !r.Create || *added:
		return noName(r.Name)
	}
	*added = true
	if r.Family != "" {
		return s.addCounted(ctx, r, a)
	}
	_, err = s.conn.Exec(ctx, s.tx, "add", a)
	return err
}

// addCounted creates a name of a family, unless it exists, after the row that counts the family. It
// locks that row, so names are created one after another.
func (s *Store) addCounted(ctx context.Context, r numberstore.Request, a sqlconn.Args) error {
	name := "/count." + r.Family[1:]
	count := args(numberstore.Request{Name: name, N: 1, Max: math.MaxInt64, Start: 1})
	_, counted, err := s.given(ctx, name)
	if err == nil && !counted && r.Heads == "" && r.Family != r.Root {
		var n int64 // nobody creates one without the count
		if n, err = s.left(ctx, nil, r.Family); err == nil {
			of := name[:strings.LastIndexByte(name[:len(name)-1], '.')+1]
			err = s.addCounted(ctx, numberstore.Request{Family: of, Root: r.Root}, count.With(sqlconn.Args{"start": n + 1}))
		}
	}
	if err != nil {
		return err
	}
	there := errors.New("it is there")
	err = s.conn.AtOnce(ctx, func(tx sqlconn.Runner) error {
		if r.Heads != "" {
			return s.addHead(ctx, tx, r, count, a)
		}
		n, _, err := s.conn.Change(ctx, tx, "reserve", count) // 0 if it is missing
		if err != nil {
			return err
		}
		if added, err := s.conn.Exec(ctx, tx, "add", a); err != nil || added == 0 {
			return cmp.Or(err, there)
		}
		left, err := s.left(ctx, tx, r.Family)
		if err == nil && left != n {
			err = fmt.Errorf("%w: with this one %q would count %d names, and there would be %d", numberstore.ErrUnknown, count["name"], n, left)
		}
		return err
	})
	if errors.Is(err, there) {
		return nil
	}
	return err
}

// addHead creates a head, and before the first one the row that counts the family. Where a head is
// left, a count that is missing was lost.
func (s *Store) addHead(ctx context.Context, tx sqlconn.Runner, r numberstore.Request, count, a sqlconn.Args) error {
	heads, err := s.left(ctx, tx, r.Heads)
	if err == nil && heads == 0 {
		_, err = s.conn.Exec(ctx, tx, "add", count)
	}
	if err == nil {
		_, err = s.conn.Exec(ctx, tx, "add", a)
	}
	return err
}

// left returns how many names begin with prefix.
func (s *Store) left(ctx context.Context, tx sqlconn.Runner, prefix string) (int64, error) {
	n, _, err := sqlconn.One(ctx, s.conn, tx, "family", sqlconn.Args{"name": prefix, "below": below(prefix)}, sqlconn.Column[int64])
	return n, err
}

// below returns a string above all names that begin with prefix, and below all others that are
// above it.
func below(prefix string) string {
	end := len(prefix) - 1
	return prefix[:end] + string(rune(prefix[end]+1))
}

// with runs f and wraps its error. If the table is missing, with creates it and repeats f, but not
// in a transaction.
func (s *Store) with(ctx context.Context, what, name string, f func(context.Context) error) (err error) {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	switch {
	case s.pool == nil:
		err = s.conn.Server(ctx, false)
	case fault.Nil(s.tx):
		return fmt.Errorf("%w: there is none (%T): with GORM, ask in db.Transaction, or in a hook without SkipDefaultTransaction and gorm.io/sharding, with the *gorm.DB given there",
			numberstore.ErrTransaction, s.tx)
	case !s.conn.Answered():
		return fmt.Errorf("%w: the store has not answered yet: call it outside of a transaction first, as numbers.OpenSeries does", numberstore.ErrTransaction)
	}
	if err == nil {
		err = f(ctx)
		switch missing := s.conn.TableMissing(err); {
		case missing && s.pool != nil:
			err = sqlconn.Advise(s.conn.NoTable("segment"))
		case missing:
			if err = s.conn.Create(ctx); err == nil {
				err = f(ctx)
			}
		}
	}
	return s.conn.Wrap(ctx, fmt.Sprintf(what, name), err)
}
