package dbseq

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A runner is a pool or a transaction.
type runner interface {
	ExecContext(ctx context.Context, text string, values ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, values ...any) (*sql.Rows, error)
}

// named returns the statement of that name.
func (c *conn) named(name string) statement {
	s := c.statements.Load()
	s.mu.Lock()
	defer s.mu.Unlock()
	found, ok := s.all[name]
	if !ok {
		part, known := c.parts[name]
		if !known {
			panic("dbseq: no statement of " + string(c.dialect.name) + " is called " + name) // a bug in this package
		}
		found = c.dialect.statement(part, s.fill)
		s.all[name] = found
	}
	return found
}

// once runs f in a transaction if a statement on the pool may not be committed otherwise.
func (c *conn) once(ctx context.Context, f func(runner) error) error {
	if c.own || !c.dialect.commits {
		return f(c.pool())
	}
	return c.inTx(ctx, f)
}

func (c *conn) inTx(ctx context.Context, f func(runner) error) (err error) {
	tx, err := c.pool().BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() {
		if e := tx.Rollback(); e != nil && !errors.Is(e, sql.ErrTxDone) {
			err = errors.Join(err, e)
		}
	}()
	if err := f(tx); err != nil {
		return err
	}
	return tx.Commit()
}

// all runs a statement on the pool, patiently, and returns its rows. fields returns
// where to scan the columns of a row.
func all[T any](ctx context.Context, c *conn, name string, a args, fields func(*T) []any) (found []T, err error) {
	err = c.patiently(ctx, func() error {
		return c.once(ctx, func(on runner) (err error) {
			found, err = query(ctx, on, c.named(name), a, fields)
			return err
		})
	})
	return found, err
}

// one is all for a statement that returns at most one row.
func one[T any](ctx context.Context, c *conn, name string, a args, fields func(*T) []any) (row T, there bool, err error) {
	rows, err := all(ctx, c, name, a, fields)
	for _, row = range rows {
		there = true
	}
	return row, there, err
}

// number is one for a row that is a number.
func (c *conn) number(ctx context.Context, name string, a args) (int64, error) {
	n, _, err := one(ctx, c, name, a, column[int64])
	return n, err
}

// now reads the server's clock.
func (c *conn) now(ctx context.Context) (int64, error) { return c.number(ctx, "clock", nil) }

func column[T any](to *T) []any { return []any{to} }

// query runs a statement and reads it to the end, where an error of its commit shows.
func query[T any](ctx context.Context, on runner, s statement, a args, fields func(*T) []any) (found []T, err error) {
	rows, err := on.QueryContext(ctx, s.text, s.bind(a)...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var row T
		if err := rows.Scan(fields(&row)...); err != nil {
			if strings.HasPrefix(err.Error(), "sql: Scan error") {
				err = fmt.Errorf("%w: %w", lease.ErrDamaged, err)
			}
			return nil, err
		}
		found = append(found, row)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return found, rows.Close()
}

// change is changeOn on the pool, patiently.
func (c *conn) change(ctx context.Context, name string, a args) (n int64, done bool, err error) {
	err = c.patiently(ctx, func() error {
		return c.once(ctx, func(on runner) (err error) {
			n, done, err = c.changeOn(ctx, on, name, a)
			return err
		})
	})
	if err != nil {
		return 0, false, err // also if the commit failed
	}
	return n, done, nil
}

// changeOn runs a conditional change of at most one row and returns the number that it
// yields: the server's clock as the statement read it, the id of a ticket, or the first
// reserved number. done is false if no row was changed.
func (c *conn) changeOn(ctx context.Context, on runner, name string, a args) (n int64, done bool, err error) {
	s := c.named(name)
	if c.dialect.returning {
		found, err := query(ctx, on, s, a, column[int64])
		if err != nil || len(found) == 0 {
			return 0, false, err
		}
		return found[0], true, nil
	}
	result, err := on.ExecContext(ctx, s.text, s.bind(a)...)
	if err != nil {
		return 0, false, err
	}
	affected, err := result.RowsAffected()
	if err != nil || affected == 0 {
		return 0, false, err
	}
	n, err = result.LastInsertId()
	return n, err == nil, err
}

// exec is execOn on the pool, patiently.
func (c *conn) exec(ctx context.Context, name string, a args) (n int64, err error) {
	err = c.patiently(ctx, func() error {
		n, err = c.execOnce(ctx, name, a)
		return err
	})
	return n, err
}

// execOnce is execOn on the pool.
func (c *conn) execOnce(ctx context.Context, name string, a args) (n int64, err error) {
	err = c.once(ctx, func(on runner) (err error) {
		n, err = c.execOn(ctx, on, name, a)
		return err
	})
	if err != nil {
		return 0, err // also if the commit failed
	}
	return n, nil
}

// execOn runs a change and returns the number of rows affected.
func (c *conn) execOn(ctx context.Context, on runner, name string, a args) (int64, error) {
	s := c.named(name)
	result, err := on.ExecContext(ctx, s.text, s.bind(a)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// rounds is how often a call looks at the records when others keep changing them.
const rounds = 10

func unsettled() error {
	return fmt.Errorf("the records changed under each of %d attempts: try again, and check whether statements go to several servers", rounds)
}

// patience is how often a statement is tried that loses against others.
const patience = 10

// patiently repeats f while it loses against other statements, and so changes nothing.
func (c *conn) patiently(ctx context.Context, f func() error) error {
	for i := 1; ; i++ {
		err := f()
		if i == patience || !c.transient(err) {
			return c.checked(err)
		}
		if err := pause(ctx, time.Duration(min(1<<i, 128))*time.Millisecond); err != nil {
			return err
		}
	}
}

// checked closes the idle connections if err says that the server is read-only. After a
// failover, new connections reach another server.
func (c *conn) checked(err error) error {
	if err != nil && c.own && c.readOnly(err) {
		c.pool().SetMaxIdleConns(0)
		c.pool().SetMaxIdleConns(2)
	}
	return err
}

// pause waits for about d.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d/2 + rand.N(d))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
