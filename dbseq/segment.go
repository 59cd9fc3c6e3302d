package dbseq

import (
	"context"
	"database/sql"
	"fmt"
	"math"

	"github.com/snowlease/snowlease/internal/bounded"

	"github.com/snowlease/snowlease/internal/fault"
	"github.com/snowlease/snowlease/numbers/segment"
)

var (
	_ segment.Store   = (*Segments)(nil)
	_ segment.Creator = (*Segments)(nil)
	_ fmt.Stringer    = (*Segments)(nil)
)

// Segments reserves numbers in the table snowlease_segment, which has one row per
// name. It is a segment.Store. It is safe for concurrent use.
//
//	store, err := dbseq.OpenSegments("mysql", dsn)
//	defer store.Close()
//	orders, err := segment.Open(ctx, store, segment.Config{Name: "orders", Start: 1000})
//
// A reservation is one UPDATE, committed on its own. So no number is given twice, as
// long as the database loses no acknowledged write. After restoring a backup, raise
// max_id above all numbers in use before any process reserves: the table does not know
// those given since the backup. If a row is lost, running processes get segment.ErrUnknown; one
// that starts creates the row again, and numbers start over, unless Create of segment.Config
// is never.
//
// The first use creates the table. If the account may not create tables, an
// administrator runs the file dbseq/schema/segment_*.sql for the database once. The
// account needs SELECT, INSERT and UPDATE on the table.
type Segments struct {
	*conn
	shared bool // conn belongs to a Center, which closes it
}

// OpenSegments returns a store with a pool of its own. It opens no connection; the first
// reservation does. Arguments and errors are those of Open. WithQuarantine has no effect.
// The caller closes the store after its last use.
func OpenSegments(driverName, dsn string, opts ...Option) (*Segments, error) {
	return segmentsOn(connect(driverName, dsn, opts))
}

// NewSegments returns a store on a pool that the caller keeps and closes. Arguments and
// errors are those of New. WithQuarantine has no effect.
func NewSegments(pool *sql.DB, dialect Dialect, opts ...Option) (*Segments, error) {
	return segmentsOn(on(pool, dialect, opts))
}

func segmentsOn(c *conn, err error) (*Segments, error) {
	if err != nil {
		return nil, err
	}
	return &Segments{conn: c}, nil
}

// Past returns what counts the backdated ids of package history. It shares the pool of c, at most
// two connections, with the renewals.
func (c *Center) Past() segment.Store { return &Segments{conn: c.conn, shared: true} }

// Close closes the pool, if the store opened it.
func (s *Segments) Close() error {
	if s.shared {
		return nil
	}
	return s.conn.Close()
}

// Reserve implements segment.Store. It takes one statement once the name exists. Errors
// are those of segment.Store and lease.ErrDamaged.
func (s *Segments) Reserve(ctx context.Context, r segment.Request) (got segment.Range, err error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	added := false // a name that is missing again was lost, perhaps after others had numbers
	err = s.with(ctx, "reserve numbers of %q", r.Name, func(ctx context.Context) (err error) {
		got, err = s.reserve(ctx, r, &added)
		return err
	})
	return got, err
}

// Create implements segment.Creator.
func (s *Segments) Create(ctx context.Context, name string, start int64) error {
	if err := (segment.Request{Name: name, N: 1, Start: start, Max: start}).Validate(); err != nil {
		return err
	}
	return s.with(ctx, "create %q", name, func(ctx context.Context) error {
		n, err := s.exec(ctx, "add", args{"name": name, "start": start})
		if err == nil && n == 0 {
			if _, _, err = s.given(ctx, name); err == nil {
				err = fmt.Errorf("%w: %q", segment.ErrExists, name)
			}
		}
		return err
	})
}

// Given returns the greatest number that a name has given, or 0. Errors: segment.ErrUnknown,
// segment.ErrRequest, lease.ErrDamaged.
func (s *Segments) Given(ctx context.Context, name string) (given int64, err error) {
	if err := (segment.Request{Name: name, N: 1, Start: 1, Max: 1}).Validate(); err != nil {
		return 0, err
	}
	err = s.with(ctx, "look at %q", name, func(ctx context.Context) (err error) {
		var there bool
		if given, there, err = s.given(ctx, name); err == nil && !there {
			err = noName(name)
		}
		return err
	})
	return given, err
}

func (s *Segments) given(ctx context.Context, name string) (given int64, there bool, err error) {
	given, there, err = one(ctx, s.conn, "given", args{"name": name}, func(given *int64) []any { return []any{new(clock), given} })
	if err == nil && !there { // no row that the clock could be read with
		_, err = s.now(ctx)
	}
	if err == nil && given < 0 {
		err = within("max_id", given, math.MaxInt64)
	}
	return given, there, err
}

func noName(name string) error {
	return fmt.Errorf("%w: %q: %s", segment.ErrUnknown, name, fault.CreateName(name))
}

func (s *Segments) reserve(ctx context.Context, r segment.Request, added *bool) (segment.Range, error) {
	a := args{"name": r.Name, "n": r.N, "max": r.Max, "above": r.Above, "start": r.Start}
	statement := "reserve"
	if r.Beside != "" {
		statement, a = "reserve_beside", a.with(args{"beside": r.Beside, "from": r.Given.First, "to": r.Given.Last})
	}
	for range rounds {
		first, done, err := s.change(ctx, statement, a)
		if err != nil {
			return segment.Range{}, err
		}
		if done {
			return segment.Range{First: first, Last: first + min(r.N-1, r.Max-first)}, nil
		}
		if r.Beside != "" {
			if given, there, err := s.given(ctx, r.Beside); err != nil {
				return segment.Range{}, err
			} else if !there || given < r.Given.First || given > r.Given.Last {
				return segment.Range{}, fmt.Errorf("%w: %q has not given %d to %d", segment.ErrUnknown, r.Beside, r.Given.First, r.Given.Last)
			}
		}
		given, there, err := s.given(ctx, r.Name)
		switch {
		case err != nil:
			return segment.Range{}, err
		case there && max(given, r.Above) >= r.Max:
			return segment.Range{}, fmt.Errorf("%w: %q is at %d of %d", segment.ErrEnd, r.Name, max(given, r.Above), r.Max)
		case there: // created since the update
		case !r.Create || *added:
			return segment.Range{}, noName(r.Name)
		case r.Above >= r.Max:
			return segment.Range{}, fmt.Errorf("%w: %q is at %d of %d", segment.ErrEnd, r.Name, r.Above, r.Max)
		default:
			*added = true
			if _, err := s.exec(ctx, "add", a); err != nil {
				return segment.Range{}, err
			}
		}
	}
	return segment.Range{}, unsettled()
}

// with runs f and wraps its error. If the table is missing, with creates it and repeats
// f.
func (s *Segments) with(ctx context.Context, what, name string, f func(context.Context) error) error {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	err := s.server(ctx, false)
	if err == nil {
		if err = f(ctx); s.tableMissing(err) {
			if err = s.create(ctx, segmentTables); err == nil {
				err = f(ctx)
			}
		}
	}
	return s.wrap(ctx, fmt.Sprintf(what, name), segmentTables, err)
}
