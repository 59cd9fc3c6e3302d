package casengine

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

var _ lease.Operator = (*center)(nil)

// Incarnation implements lease.Operator.
func (c *center) Incarnation(ctx context.Context, namespace string) (string, error) {
	v, err := c.look(ctx, "incarnation", namespace)
	return v.incarnation, err
}

// Record implements lease.Operator.
func (c *center) Record(ctx context.Context, namespace string) (lease.Record, error) {
	v, err := c.look(ctx, "record", namespace)
	if err != nil {
		return lease.Record{}, err
	}
	r, err := v.ns.Record(v.now.UnixMilli())
	return r, c.operated("record", namespace, err)
}

// Quarantine implements lease.Operator.
func (c *center) Quarantine(ctx context.Context, namespace, reason string) (r lease.Record, err error) {
	err = c.operate(ctx, "quarantine", namespace, func(ns rules.Namespace, now int64) (rules.Namespace, error) {
		ns, err := ns.Quarantined(now, reason)
		if err == nil {
			r, err = ns.Record(now)
		}
		return ns, err
	})
	return r, err
}

// Revoke implements lease.Operator.
func (c *center) Revoke(ctx context.Context, namespace string, worker, token int64) error {
	return c.operate(ctx, "revoke", namespace, func(ns rules.Namespace, now int64) (rules.Namespace, error) {
		return ns.Revoke(now, worker, token)
	})
}

// Retire implements lease.Operator.
func (c *center) Retire(ctx context.Context, namespace, reason string) error {
	return c.operate(ctx, "retire", namespace, func(ns rules.Namespace, _ int64) (rules.Namespace, error) {
		return ns.Retire(reason)
	})
}

func (c *center) operate(ctx context.Context, verb, namespace string, do func(ns rules.Namespace, now int64) (rules.Namespace, error)) error {
	return c.apply(ctx, verb, namespace, func(ns rules.Namespace, now int64, _ string) (rules.Namespace, error) {
		after, err := do(ns, now)
		return after, c.operated(verb, namespace, err)
	})
}

// operated names the namespace in the error of a rule.
func (c *center) operated(verb, namespace string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("casstore: %s: namespace %q in %s: %w", verb, namespace, c.String(), err)
}
