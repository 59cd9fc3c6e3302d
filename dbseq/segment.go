package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"gorm.io/gorm"

	"github.com/snowlease/snowlease/segment"
)

var (
	_ segment.Store   = (*Segments)(nil)
	_ segment.Creator = (*Segments)(nil)
	_ fmt.Stringer    = (*Segments)(nil)
)

// Segments reserves numbers in the table snowlease_segment, which has one row per
// name. It is a segment.Store and safe for concurrent use.
//
//	store, err := dbseq.NewSegments(db)
//	defer store.Close()
//	orders, err := segment.Open(ctx, segment.Config{Name: "orders", Start: 1000}, store)
//
// A reservation is one UPDATE that commits by itself, so no number is given twice as
// long as the database loses no write that it has acknowledged. The table is created
// on first use; an account that may not CREATE needs an administrator who runs
// dbseq/schema/segment_*.sql once. After a backup was restored the numbers given since
// are unknown to the table: raise max_id above those in use before anybody reserves.
type Segments struct {
	c          *Center // its pool, its ways with errors
	shared     bool    // c is another's
	statements atomic.Pointer[segmentStatements]
}

type segmentStatements struct {
	*queries
	reserve, given, add, create statement
	table                       string
}

// NewSegments returns a store on the database of db. It opens no connection; the first
// reservation does. It connects as New does, by a pool of its own, and takes the same
// options; WithQuarantine changes nothing here.
//
// Errors: as of New.
func NewSegments(db *gorm.DB, opts ...Option) (*Segments, error) {
	c, err := New(db, opts...)
	if err != nil {
		return nil, err
	}
	return &Segments{c: c}, nil
}

// Segments returns a store on the database and the pool of c, and so of two connections
// with the lease at best: who has more than a call at a time wants NewSegments. Its
// Close does nothing.
func (c *Center) Segments() *Segments { return &Segments{c: c, shared: true} }

// Close closes the pool, if the store opened it.
func (s *Segments) Close() error {
	if s.shared {
		return nil
	}
	return s.c.Close()
}

// String names the database without secrets: "mysql 127.0.0.1:3306/app".
func (s *Segments) String() string { return s.c.String() }

// Warnings say what about the database endangers the numbers, for the start log.
func (s *Segments) Warnings() []string { return s.c.Warnings() }

// Reserve is that of segment.Store, in one statement once the name is there.
func (s *Segments) Reserve(ctx context.Context, r segment.Request) (got segment.Range, err error) {
	if err := r.Validate(); err != nil {
		return segment.Range{}, err
	}
	err = s.with(ctx, func(st *segmentStatements) error {
		got, err = s.reserve(ctx, st, r)
		return err
	})
	return got, s.wrap(ctx, fmt.Sprintf("reserve numbers of %q", r.Name), err)
}

// Create is that of segment.Creator.
func (s *Segments) Create(ctx context.Context, name string, start int64) error {
	if err := (segment.Request{Name: name, N: 1, Start: start, Max: start}).Validate(); err != nil {
		return err
	}
	err := s.with(ctx, func(st *segmentStatements) error {
		n, err := s.c.exec(ctx, st.add, args{"name": name, "start": start})
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: %q", segment.ErrExists, name)
		}
		return err
	})
	return s.wrap(ctx, fmt.Sprintf("create %q", name), err)
}

func (s *Segments) reserve(ctx context.Context, st *segmentStatements, r segment.Request) (segment.Range, error) {
	a := args{"name": r.Name, "n": r.N, "max": r.Max, "above": r.Above, "start": r.Start}
	for range rounds {
		first, done, err := s.c.change(ctx, st.queries, st.reserve, a)
		if err != nil {
			return segment.Range{}, err
		}
		if done {
			return segment.Range{First: first, Last: first + min(r.N-1, r.Max-first)}, nil
		}
		var given sql.NullInt64
		err = s.c.patiently(ctx, func() error {
			return s.c.query(ctx, st.given, a, func(rows *sql.Rows) error { return rows.Scan(&given) })
		})
		switch {
		case err != nil:
			return segment.Range{}, err
		case given.Int64 < 0:
			return segment.Range{}, within("max_id", given.Int64, math.MaxInt64)
		case given.Valid && max(given.Int64, r.Above) >= r.Max:
			return segment.Range{}, fmt.Errorf("%w: %q is at %d of %d", segment.ErrEnd, r.Name, max(given.Int64, r.Above), r.Max)
		case given.Valid: // created since
		case !r.Create:
			return segment.Range{}, fmt.Errorf("%w: %q", segment.ErrUnknown, r.Name)
		case r.Above >= r.Max:
			return segment.Range{}, fmt.Errorf("%w: %q is at %d of %d", segment.ErrEnd, r.Name, r.Above, r.Max)
		default:
			if _, err := s.c.exec(ctx, st.add, a); err != nil {
				return segment.Range{}, err
			}
		}
	}
	return segment.Range{}, s.c.unsettled()
}

// with runs f, and again when it was the table that was missing.
func (s *Segments) with(ctx context.Context, f func(*segmentStatements) error) error {
	st := s.statements.Load()
	if st == nil {
		q, err := s.c.server(ctx, false)
		if err != nil {
			return err
		}
		st = loadSegments(s.c.dialect, s.c.prefix, q)
		s.statements.Store(st)
	}
	err := f(st)
	if !s.c.tableMissing(err) {
		return err
	}
	q := *st.queries
	q.tableDefinition = "dbseq/schema/segment_" + s.c.dialect + ".sql"
	if err := s.c.create(ctx, &q, st.table, st.create); err != nil {
		return err
	}
	return f(st)
}

// loadSegments reads the statements of a dialect.
func loadSegments(dialect, prefix string, q *queries) *segmentStatements {
	fill := strings.NewReplacer("{now}", clocks[dialect], "snowlease_", prefix)
	text := read("sql/segment_" + dialect + ".sql")
	get := func(name string) statement {
		for _, m := range heading.FindAllStringSubmatchIndex(text, -1) {
			if text[m[2]:m[3]] == name {
				body, _, _ := strings.Cut(text[m[1]:], ";\n")
				return statement{text: fill.Replace(clean(body)), names: strings.Split(text[m[4]:m[5]], ", ")}
			}
		}
		panic("dbseq: sql/segment_" + dialect + ".sql has no statement " + name) // a fault of this package
	}
	return &segmentStatements{
		queries: q, reserve: get("reserve"), given: get("given"), add: get("add"),
		create: statement{text: fill.Replace(clean(read("schema/segment_" + dialect + ".sql")))}, table: prefix + "segment",
	}
}

// wrap says what was attempted where, and what to do about it if that is known.
func (s *Segments) wrap(ctx context.Context, what string, err error) error {
	if err == nil || errors.Is(err, segment.ErrUnknown) || errors.Is(err, segment.ErrEnd) || errors.Is(err, segment.ErrExists) {
		return err
	}
	if cause := ctx.Err(); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w (%w)", cause, err)
	}
	hint := ""
	switch {
	case errors.As(err, new(advised)):
	case s.c.dialect == sqlite && errors.Is(err, context.DeadlineExceeded):
		hint = ": on SQLite a transaction that writes keeps all others from writing: the caller's own as well, where the number is taken within it"
	case s.c.readOnly(err):
		hint = ": the server is read-only or a replica: the DSN must lead to the primary"
	case s.c.is(err, deniedMySQL, deniedState, nil):
		hint = fmt.Sprintf(": grant the account SELECT, INSERT and UPDATE on the table %ssegment; a table that it may not create is made by running dbseq/schema/segment_%s.sql once by hand",
			s.c.prefix, s.c.dialect)
	}
	return fmt.Errorf("dbseq: %s on %s: %w%s", what, s.c.name, err, hint)
}
