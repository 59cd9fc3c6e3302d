package sqlconn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/lease"
)

// A Runner is a pool or a transaction. If a Runner argument is nil, functions run on the pool and
// repeat a statement that lost against others, which has changed nothing.
type Runner interface {
	ExecContext(ctx context.Context, text string, values ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, values ...any) (*sql.Rows, error)
}

// try runs f on tx. If tx is nil, try runs f on the pool and repeats it as patiently does.
func (c *Conn) try(ctx context.Context, tx Runner, f func(on Runner) error) error {
	if tx != nil {
		return f(tx)
	}
	return c.patiently(ctx, func() error { return c.once(ctx, f) })
}

// once runs f in a transaction if a statement on the pool might otherwise not be committed.
func (c *Conn) once(ctx context.Context, f func(Runner) error) error {
	if c.Own || !c.dialect.commits {
		return f(c.Pool())
	}
	return c.inTx(ctx, f)
}

func (c *Conn) inTx(ctx context.Context, f func(Runner) error) (err error) {
	tx, err := c.Pool().BeginTx(ctx, nil)
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

// AtOnce runs f in a transaction, and repeats it if it lost against others.
func (c *Conn) AtOnce(ctx context.Context, f func(Runner) error) error {
	return c.patiently(ctx, func() error { return c.inTx(ctx, f) })
}

// All runs a statement and returns its rows. It reads to the end, where an error of the commit
// appears. fields returns the destinations of the columns of a row.
func All[T any](ctx context.Context, c *Conn, tx Runner, name string, a Args, fields func(*T) []any) (found []T, err error) {
	err = c.try(ctx, tx, func(on Runner) error {
		s := c.named(name)
		rows, err := on.QueryContext(ctx, s.text, s.bind(a)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for found = nil; rows.Next(); {
			var row T
			if err := rows.Scan(fields(&row)...); err != nil {
				if strings.HasPrefix(err.Error(), "sql: Scan error") {
					err = fmt.Errorf("%w: %w", lease.ErrDamaged, err)
				}
				return err
			}
			found = append(found, row)
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return rows.Close()
	})
	if err != nil {
		return nil, err // also if the commit failed
	}
	return found, nil
}

// One is All for a statement that returns at most one row.
func One[T any](ctx context.Context, c *Conn, tx Runner, name string, a Args, fields func(*T) []any) (row T, there bool, err error) {
	rows, err := All(ctx, c, tx, name, a, fields)
	for _, row = range rows {
		there = true
	}
	return row, there, err
}

// Column is the fields of a row with one column.
func Column[T any](to *T) []any { return []any{to} }

// Number runs a statement on the pool that returns a number.
func Number(ctx context.Context, c *Conn, name string, a Args) (int64, error) {
	n, _, err := One(ctx, c, nil, name, a, Column[int64])
	return n, err
}

// Now reads the server's clock.
func (c *Conn) Now(ctx context.Context, tx Runner) (int64, error) {
	now, _, err := One(ctx, c, tx, "clock", nil, Column[int64])
	return now, err
}

// Change runs a conditional change of at most one row and returns the resulting number: the
// server's clock as the statement read it, the id of a ticket, or the first reserved number. done
// is false if no row was changed.
func (c *Conn) Change(ctx context.Context, tx Runner, name string, a Args) (n int64, done bool, err error) {
	if c.dialect.returning {
		return One(ctx, c, tx, name, a, Column[int64])
	}
	err = c.try(ctx, tx, func(on Runner) error {
		result, affected, err := c.run(ctx, on, name, a)
		if done = err == nil && affected > 0; done {
			n, err = result.LastInsertId()
		}
		return err
	})
	if err != nil {
		return 0, false, err // also if the commit failed
	}
	return n, done, nil
}

// Exec runs a change and returns the number of rows affected.
func (c *Conn) Exec(ctx context.Context, tx Runner, name string, a Args) (n int64, err error) {
	err = c.try(ctx, tx, func(on Runner) error {
		_, n, err = c.run(ctx, on, name, a)
		return err
	})
	return n, err
}

// ExecOnce is Exec on the pool without retries, for callers that have other work after losing
// against others.
func (c *Conn) ExecOnce(ctx context.Context, name string, a Args) (n int64, err error) {
	err = c.once(ctx, func(on Runner) error {
		_, n, err = c.run(ctx, on, name, a)
		return err
	})
	return n, c.checked(err)
}

func (c *Conn) run(ctx context.Context, on Runner, name string, a Args) (sql.Result, int64, error) {
	s := c.named(name)
	result, err := on.ExecContext(ctx, s.text, s.bind(a)...)
	if err != nil {
		return nil, 0, err
	}
	n, err := result.RowsAffected()
	return result, n, err
}

// Rounds is how often a call reads records that others keep changing, and how often a statement that
// loses against others is tried.
const Rounds = 10

// Unsettled is the error after the last of the Rounds.
func Unsettled() error {
	return fmt.Errorf("the records changed under each of %d attempts: try again, and check whether statements go to several servers", Rounds)
}

// patiently repeats f while it loses against other statements and so changes nothing.
func (c *Conn) patiently(ctx context.Context, f func() error) error {
	for i := 1; ; i++ {
		err := f()
		if i == Rounds || !c.Transient(err) {
			return c.checked(err)
		}
		about := time.Duration(min(1<<i, 128)) * time.Millisecond
		if err := bounded.Sleep(ctx, about/2+rand.N(about)); err != nil {
			return err
		}
	}
}

// checked closes the idle connections if err means that the server is read-only. After a
// failover, new connections reach another server.
func (c *Conn) checked(err error) error {
	if err != nil && c.Own && c.readOnly(err) {
		c.Pool().SetMaxIdleConns(0)
		c.Pool().SetMaxIdleConns(2)
	}
	return err
}
