package casstore

import (
	"context"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

var _ lease.Operator = (*Center)(nil)

// Incarnation implements lease.Operator.
func (c *Center) Incarnation(ctx context.Context, namespace string) (string, error) {
	v, err := c.look(ctx, "incarnation", namespace)
	return v.incarnation, err
}

// Record implements lease.Operator.
func (c *Center) Record(ctx context.Context, namespace string) (lease.Record, error) {
	v, err := c.look(ctx, "record", namespace)
	if err != nil {
		return lease.Record{}, err
	}
	r, err := v.ns.Record(v.now.UnixMilli())
	return r, c.operated("record", namespace, err)
}

// Quarantine implements lease.Operator.
func (c *Center) Quarantine(ctx context.Context, namespace, reason string) (r lease.Record, err error) {
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
func (c *Center) Revoke(ctx context.Context, namespace string, worker, token int64) error {
	return c.operate(ctx, "revoke", namespace, func(ns rules.Namespace, now int64) (rules.Namespace, error) {
		return ns.Revoke(now, worker, token)
	})
}

// Mend implements lease.Operator. It writes up to 50 worker ids at once.
func (c *Center) Mend(ctx context.Context, namespace string, local int64) error {
	start := time.Now()
	for range MaxPool/50 + 1 {
		changed := false
		if err := c.operate(ctx, "mend", namespace, func(ns rules.Namespace, now int64) (rules.Namespace, error) {
			clock := local
			if clock != 0 {
				clock += time.Since(start).Milliseconds()
			}
			after, err := ns.Mend(now, clock, 50)
			changed = !after.Equal(ns)
			return after, err
		}); err != nil || !changed {
			return err
		}
	}
	return nil
}

// Retire implements lease.Operator.
func (c *Center) Retire(ctx context.Context, namespace, reason string) error {
	return c.operate(ctx, "retire", namespace, func(ns rules.Namespace, _ int64) (rules.Namespace, error) {
		return ns.Retire(reason)
	})
}

func (c *Center) operate(ctx context.Context, verb, namespace string, do func(ns rules.Namespace, now int64) (rules.Namespace, error)) error {
	return c.apply(ctx, verb, namespace, func(ns rules.Namespace, now int64, _ string) (rules.Namespace, error) {
		after, err := do(ns, now)
		return after, c.operated(verb, namespace, err)
	})
}

// operated names the namespace in the error of a rule.
func (c *Center) operated(verb, namespace string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("casstore: %s: namespace %q in %v: %w", verb, namespace, c.store, err)
}
