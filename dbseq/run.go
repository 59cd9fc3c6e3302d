package dbseq

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
)

// A connection is a pool or a transaction.
type connection interface {
	ExecContext(ctx context.Context, text string, values ...any) (sql.Result, error)
	QueryContext(ctx context.Context, text string, values ...any) (*sql.Rows, error)
}

// query runs a statement on the pool.
func (c *Center) query(ctx context.Context, s statement, a args, row func(*sql.Rows) error) error {
	return query(ctx, c.pool(), s, a, row)
}

// query runs a statement to its end, which is where an error of its commit shows.
func query(ctx context.Context, on connection, s statement, a args, row func(*sql.Rows) error) error {
	rows, err := on.QueryContext(ctx, s.text, s.bind(a)...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := row(rows); err != nil {
			if strings.HasPrefix(err.Error(), "sql: Scan error") {
				err = fmt.Errorf("%w: %w", ErrDamaged, unread{err})
			}
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return rows.Close()
}

// unread is the error of a row that cannot be read. It quotes the value, which SQLite
// takes in any length and of any type.
type unread struct{ error }

func (e unread) Error() string { return printable.Text(e.error.Error()) }
func (e unread) Unwrap() error { return e.error }

// number runs a statement that answers with one number.
func (c *Center) number(ctx context.Context, s statement, a args) (n int64, err error) {
	err = c.patiently(ctx, func() error {
		return c.query(ctx, s, a, func(rows *sql.Rows) error { return rows.Scan(&n) })
	})
	return n, err
}

// change runs a conditional change of at most one row that hands back a number: the
// server's clock as that very statement read it, or the id of a ticket.
func (q *queries) change(ctx context.Context, on connection, s statement, a args) (n int64, done bool, err error) {
	if q.returning {
		err = query(ctx, on, s, a, func(rows *sql.Rows) error {
			done = true
			return rows.Scan(&n)
		})
		return n, done && err == nil, err
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

// exec runs a change and counts its rows.
func exec(ctx context.Context, on connection, s statement, a args) (int64, error) {
	result, err := on.ExecContext(ctx, s.text, s.bind(a)...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}

// exec is exec on the pool, repeated while it loses against others.
func (c *Center) exec(ctx context.Context, s statement, a args) (n int64, err error) {
	err = c.patiently(ctx, func() error {
		n, err = exec(ctx, c.pool(), s, a)
		return err
	})
	return n, err
}

// change is change on the pool, repeated while it loses against others.
func (c *Center) change(ctx context.Context, q *queries, s statement, a args) (n int64, done bool, err error) {
	err = c.patiently(ctx, func() error {
		n, done, err = q.change(ctx, c.pool(), s, a)
		return err
	})
	return n, done, err
}

// patience is how often a statement that lost against others is tried.
const patience = 10

// patiently repeats what lost against others: f has changed nothing then.
func (c *Center) patiently(ctx context.Context, f func() error) error {
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

// checked lets go of the idle connections when the server turns out to take no
// writes: after a failover the name leads to another.
func (c *Center) checked(err error) error {
	if err != nil && c.own && c.readOnly(err) {
		c.pool().SetMaxIdleConns(0)
		c.pool().SetMaxIdleConns(1)
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
