package redisseq

import (
	"context"
	"errors"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

// An operator is a center with the methods for maintenance, which lending does not need.
type operator struct{ *Center }

var _ lease.Operator = operator{}

// Incarnation implements lease.Operator. It returns the server's run_id/master_replid.
func (c operator) Incarnation(ctx context.Context, namespace string) (string, error) {
	if c.conn.Quarantine == lease.QuarantineNever {
		return "", lease.CheckNamespace(namespace)
	}
	r, err := c.run(ctx, incarnation, lease.Request{Namespace: namespace})
	if err == nil && len(r) != 2 {
		err = c.wrap(incarnation, namespace, r.Unknown())
	}
	if err != nil {
		return "", err
	}
	return r[1], nil
}

// Record implements lease.Operator.
func (c operator) Record(ctx context.Context, namespace string) (lease.Record, error) {
	r, err := c.run(ctx, record, lease.Request{Namespace: namespace})
	if err != nil {
		return lease.Record{}, err
	}
	var rec lease.Record
	if len(r) != 7 {
		err = r.Unknown()
	} else if err = r[:3].Ints(&rec.Now, &rec.Quarantine); err == nil {
		rec.Pin, rec.Incarnation, rec.Former, rec.Reason = lease.ParsePin(r[3]), printable.Text(r[4]), printable.Text(r[5]), printable.Text(r[6])
		return rec, nil
	}
	return lease.Record{}, c.wrap(record, namespace, err)
}

// Quarantine implements lease.Operator.
func (c operator) Quarantine(ctx context.Context, namespace, reason string) (lease.Record, error) {
	err := c.pinned(ctx, namespace, func(rec lease.Record) error {
		if err := rec.Pin.Err(); err != nil {
			return c.wrap(quarantine, namespace, err)
		}
		_, err := c.run(ctx, quarantine, lease.Request{Namespace: namespace}, rec.Pin.String(), rec.Pin.Hold().Milliseconds(), reason)
		return err
	})
	if err != nil {
		return lease.Record{}, err
	}
	return c.Record(ctx, namespace)
}

// pinned calls do with the record, and again if the pin has changed in the meantime.
func (c operator) pinned(ctx context.Context, namespace string, do func(lease.Record) error) (err error) {
	for range 10 {
		var rec lease.Record
		if rec, err = c.Record(ctx, namespace); err != nil {
			return err
		}
		if err = do(rec); !errors.Is(err, errChanged) {
			return err
		}
	}
	return err
}

// Revoke implements lease.Operator.
func (c operator) Revoke(ctx context.Context, namespace string, worker, token int64) error {
	_, err := c.run(ctx, revoke, lease.Request{Namespace: namespace}, worker, token)
	return err
}

// Retire implements lease.Operator.
func (c operator) Retire(ctx context.Context, namespace, reason string) error {
	return c.pinned(ctx, namespace, func(rec lease.Record) error {
		if rec.Pin.Retired {
			return nil
		}
		_, err := c.run(ctx, repin, lease.Request{Namespace: namespace}, rec.Pin.String(), lease.Pin{Retired: true, Reason: printable.Text(reason)}.String(), 0, 0, "", 0)
		return err
	})
}
