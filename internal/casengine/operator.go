package casengine

import (
	"context"
	"fmt"
	"time"

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

// Mend implements lease.Operator. It writes up to 50 worker ids at once.
func (c *center) Mend(ctx context.Context, namespace string, local int64) error {
	start := time.Now()
	if err := c.sameTime(ctx, namespace, local); err != nil {
		return err
	}
	for range rules.MaxPool/50 + 1 {
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

// sameTime refuses a clock that differs by more than the skew from this host's, which a store
// without a clock goes by: if this host is behind, Mend lowers times that are true. A clock
// that is told in seconds, as by HTTP, is known to half a second.
func (c *center) sameTime(ctx context.Context, namespace string, local int64) error {
	start := time.Now()
	v, err := c.look(ctx, "mend", namespace)
	if err != nil || v.clock || local == 0 {
		return err
	}
	off := v.now.Sub(time.UnixMilli(local).Add(time.Since(start)))
	limit := max(v.ns.Meta.Pin.Skew-500*time.Millisecond, time.Second)
	switch {
	case off.Abs() <= limit:
		return nil
	case off.Abs() > lease.MaxClockError:
		return c.operated("mend", namespace, &lease.ClockError{Namespace: namespace, Center: v.now, Local: time.UnixMilli(local)})
	}
	return c.operated("mend", namespace, fmt.Errorf("this host's clock and the other one differ by %v, more than %v, and the store has none: correct the wrong clock (NTP)", off.Round(time.Millisecond), limit))
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
