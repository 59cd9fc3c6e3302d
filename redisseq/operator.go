package redisseq

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/printable"
	"github.com/snowlease/snowlease/lease"
)

var _ lease.Operator = (*Center)(nil)

var (
	//go:embed operator_incarnation.lua
	operatorIncarnationLua string
	//go:embed operator_record.lua
	operatorRecordLua string
	//go:embed operator_quarantine.lua
	operatorQuarantineLua string
	//go:embed operator_revoke.lua
	operatorRevokeLua string
	//go:embed operator_retire.lua
	operatorRetireLua string
	//go:embed operator_mend.lua
	operatorMendLua string
)

// operate runs a script of an operator and returns its reply if that is OK, CHANGED or CLOCK.
func (c *Center) operate(ctx context.Context, verb, namespace, script string, args ...any) (reply, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return nil, err
	}
	value, err := within(ctx, func() (any, error) {
		value, err := join(baseLua, script).Run(ctx, c.client, c.keys(namespace), args...).Result()
		c.refresh(ctx, err)
		return value, err
	})
	if err != nil {
		return nil, c.wrap(verb, namespace, c.translate(namespace, err))
	}
	r, err := parse(value)
	switch {
	case err != nil:
	case r[0] == "UNKNOWN":
		err = lease.ErrUnknown
	case r[0] == "LOST":
		return nil, lease.ErrLost
	case r[0] == "CHANGED", r[0] == "CLOCK":
	default:
		err = r.fault()
	}
	if err != nil {
		return nil, c.wrap(verb, namespace, err)
	}
	return r, nil
}

// Incarnation is that of lease.Operator: the run_id and master_replid of the server.
func (c *Center) Incarnation(ctx context.Context, namespace string) (string, error) {
	if c.quarantine == Never {
		return "", lease.CheckNamespace(namespace)
	}
	const verb = "read the incarnation for"
	r, err := c.operate(ctx, verb, namespace, operatorIncarnationLua)
	if err == nil && len(r) != 2 {
		err = c.wrap(verb, namespace, r.unknown())
	}
	if err != nil {
		return "", err
	}
	return r[1], nil
}

// Record is that of lease.Operator.
func (c *Center) Record(ctx context.Context, namespace string) (lease.Record, error) {
	const verb = "read the record of"
	r, err := c.operate(ctx, verb, namespace, operatorRecordLua)
	if err != nil {
		return lease.Record{}, err
	}
	var rec lease.Record
	if len(r) != 7 {
		err = r.unknown()
	} else if err = r[:3].ints(&rec.Now, &rec.Quarantine); err == nil {
		rec.Pin, rec.Incarnation, rec.Former, rec.Reason = r[3], printable.Text(r[4]), printable.Text(r[5]), printable.Text(r[6])
		return rec, nil
	}
	return lease.Record{}, c.wrap(verb, namespace, err)
}

// Quarantine is that of lease.Operator.
func (c *Center) Quarantine(ctx context.Context, namespace, reason string) (lease.Record, error) {
	const verb = "begin a quarantine of"
	for range 10 {
		rec, err := c.Record(ctx, namespace)
		if err != nil {
			return lease.Record{}, err
		}
		pinned, err := lease.ParsePin(rec.Pin)
		if err != nil && !lease.Retired(rec.Pin) {
			err = c.damaged(namespace, err.Error())
		}
		if err != nil {
			return lease.Record{}, c.wrap(verb, namespace, err)
		}
		r, err := c.operate(ctx, verb, namespace, operatorQuarantineLua, rec.Pin, (pinned.MaxTTL + pinned.Skew).Milliseconds(), reason)
		if err != nil {
			return lease.Record{}, err
		}
		if r[0] == "OK" {
			return c.Record(ctx, namespace)
		}
	}
	return lease.Record{}, c.wrap(verb, namespace, fmt.Errorf("%w: the pin changes while it is read", ErrDamaged))
}

// Revoke is that of lease.Operator.
func (c *Center) Revoke(ctx context.Context, namespace string, worker, token int64) error {
	_, err := c.operate(ctx, "take back a worker id of", namespace, operatorRevokeLua, worker, token)
	return err
}

// Mend is that of lease.Operator, in a script for each 500 worker ids.
func (c *Center) Mend(ctx context.Context, namespace string, local int64) error {
	const verb = "mend the times of"
	start := time.Now()
	rec, err := c.Record(ctx, namespace)
	if err != nil {
		return err
	}
	req, err := lease.ParsePin(rec.Pin)
	if err != nil {
		return c.wrap(verb, namespace, err)
	}
	req.Namespace, req.Local = namespace, local
	for from := int64(0); from < req.Pool; from += 500 {
		if local != 0 {
			req.Local = local + time.Since(start).Milliseconds()
		}
		r, err := c.operate(ctx, verb, namespace, operatorMendLua, rec.Pin, req.Pool,
			(req.MaxTTL + req.Skew).Milliseconds(), req.Local, lease.MaxClockError.Milliseconds(), from)
		if err != nil {
			return err
		}
		if answer := r.answer(req); answer != nil {
			return answer
		}
		if r[0] == "CHANGED" {
			return c.wrap(verb, namespace, fmt.Errorf("%w: the pin changes while it is read", ErrDamaged))
		}
	}
	return nil
}

// Retire is that of lease.Operator.
func (c *Center) Retire(ctx context.Context, namespace, reason string) error {
	const verb = "retire"
	for range 10 {
		rec, err := c.Record(ctx, namespace)
		if err != nil || lease.Retired(rec.Pin) {
			return err
		}
		r, err := c.operate(ctx, verb, namespace, operatorRetireLua, rec.Pin, lease.RetiredPin(reason))
		if err != nil || r[0] == "OK" {
			return err
		}
	}
	return c.wrap(verb, namespace, fmt.Errorf("%w: the pin changes while it is read", ErrDamaged))
}
