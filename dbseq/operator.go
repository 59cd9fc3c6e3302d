package dbseq

import (
	"context"
	"fmt"
	"math"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/sqlconn"
	"github.com/snowlease/snowlease/lease"
)

// An operator is a center with the methods for maintenance, which lending does not need.
type operator struct{ *Center }

var _ lease.Operator = operator{}

// operate checks the namespace, runs f, and wraps its error.
func (c *Center) operate(ctx context.Context, what, namespace string, f func(context.Context) error) error {
	if err := lease.CheckNamespace(namespace); err != nil {
		return err
	}
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	err := c.conn.Server(ctx, false)
	if err == nil {
		if err = f(ctx); c.conn.TableMissing(err) {
			err = fmt.Errorf("%w: %w", lease.ErrUnknown, c.conn.NoTable("meta"))
		}
	}
	return c.conn.Wrap(ctx, what, err)
}

// Incarnation implements lease.Operator.
func (c operator) Incarnation(ctx context.Context, namespace string) (id string, err error) {
	err = c.operate(ctx, "read which server this is", namespace, func(ctx context.Context) (err error) {
		id, err = c.conn.Identify(ctx)
		return err
	})
	return id, err
}

// Record implements lease.Operator.
func (c operator) Record(ctx context.Context, namespace string) (r lease.Record, err error) {
	err = c.operate(ctx, "read the record of the namespace", namespace, func(ctx context.Context) (err error) {
		r, err = c.onRecord(ctx, namespace)
		return err
	})
	return r, err
}

func (c *Center) onRecord(ctx context.Context, namespace string) (lease.Record, error) {
	var pin string
	r, there, err := sqlconn.One(ctx, c.conn, nil, "record", sqlconn.Args{"ns": namespace}, func(r *lease.Record) []any {
		return []any{&r.Now, &pin, &r.Incarnation, &r.Former, &r.Quarantine, &r.Reason}
	})
	r.Pin = lease.ParsePin(pin)
	if err == nil && !there {
		err = fmt.Errorf("%w: %q", lease.ErrUnknown, namespace)
	}
	if err == nil {
		err = rules.Meta{Pin: r.Pin, Quarantine: r.Quarantine}.Check()
	}
	r.Incarnation, r.Former, r.Reason = printable.Text(r.Incarnation), printable.Text(r.Former), printable.Text(r.Reason)
	return r, err
}

// Quarantine implements lease.Operator.
func (c operator) Quarantine(ctx context.Context, namespace, reason string) (r lease.Record, err error) {
	err = c.operate(ctx, "begin a quarantine", namespace, func(ctx context.Context) error {
		for range sqlconn.Rounds {
			before, err := c.onRecord(ctx, namespace)
			if err != nil {
				return err
			}
			if err := before.Pin.Err(); err != nil {
				return err
			}
			hold := ms(before.Pin.Hold())
			a := sqlconn.Args{"reason": text(reason, 2000), "hold": hold, "ns": namespace, "pin": before.Pin.String()}
			if _, err := c.conn.Exec(ctx, nil, "quarantine", a); err != nil {
				return err
			}
			// Read it back, because a server may count no row if the values are unchanged.
			if r, err = c.onRecord(ctx, namespace); err != nil || r.Quarantine >= before.Now+hold {
				return err
			}
		}
		return sqlconn.Unsettled()
	})
	return r, err
}

// Revoke implements lease.Operator, in one statement.
func (c operator) Revoke(ctx context.Context, namespace string, worker, token int64) error {
	return c.operate(ctx, "take back the worker id", namespace, func(ctx context.Context) error {
		n, err := c.conn.Exec(ctx, nil, "revoke", sqlconn.Args{"ns": namespace, "slot": worker, "token": token})
		if err == nil && n == 0 {
			// It is free, lent under another token, or its row is damaged.
			if _, err = c.list(ctx, namespace); err == nil {
				err = lease.ErrLost
			}
		}
		return err
	})
}

// Retire implements lease.Operator.
func (c operator) Retire(ctx context.Context, namespace, reason string) error {
	return c.operate(ctx, "retire the namespace", namespace, func(ctx context.Context) error {
		for range sqlconn.Rounds {
			r, err := c.onRecord(ctx, namespace)
			if err != nil || r.Pin.Retired {
				return err
			}
			a := sqlconn.Args{"newpin": text(lease.Pin{Retired: true, Reason: reason}.String(), 255), "ns": namespace, "pin": r.Pin.String(), "until": int64(math.MaxInt64), "anywhere": int64(1)}
			if _, err := c.conn.Exec(ctx, nil, "repin", a); err != nil {
				return err
			}
		}
		return sqlconn.Unsettled()
	})
}
