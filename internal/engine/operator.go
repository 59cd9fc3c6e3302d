package engine

import (
	"context"

	"github.com/snowlease/snowlease/internal/bounded"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

var _ lease.Operator = (*Center)(nil)

// Incarnation implements lease.Operator.
func (c *Center) Incarnation(ctx context.Context, namespace string) (string, error) {
	v, err := c.look(ctx, namespace, Want{Verb: "incarnation", Worker: -1, Shows: true})
	return v.Incarnation, err
}

// Record implements lease.Operator.
func (c *Center) Record(ctx context.Context, namespace string) (lease.Record, error) {
	v, err := c.look(ctx, namespace, Want{Verb: "record", Worker: -1, Shows: true})
	if err != nil {
		return lease.Record{}, err
	}
	r, err := v.Record(v.Now.UnixMilli())
	return r, c.store.Wrap("record", namespace, err)
}

// Quarantine implements lease.Operator.
func (c *Center) Quarantine(ctx context.Context, namespace, reason string) (r lease.Record, err error) {
	err = c.operate(ctx, "quarantine", namespace, -1, func(ns rules.Namespace, now int64) (rules.Namespace, error) {
		return ns.Quarantined(now, reason)
	})
	if err != nil {
		return r, err
	}
	return c.Record(ctx, namespace) // see View.Stamp
}

// Revoke implements lease.Operator.
func (c *Center) Revoke(ctx context.Context, namespace string, worker, token int64) error {
	return c.operate(ctx, "revoke", namespace, worker, func(ns rules.Namespace, now int64) (rules.Namespace, error) {
		return ns.Revoke(now, worker, token)
	})
}

// Retire implements lease.Operator. It reads what a member with the pinned settings does, to see a loss.
func (c *Center) Retire(ctx context.Context, namespace, reason string) error {
	ctx, cancel := bounded.Context(ctx)
	defer cancel()
	rec, err := c.Record(ctx, namespace)
	if err != nil {
		return err
	}
	want := Want{Verb: "retire", Worker: -1}
	if pin := rec.Pin; pin.Err() == nil {
		want.Request = lease.Request{Namespace: namespace, Layout: pin.Layout, Owner: lease.NewOwner(), Pool: pin.Pool, TTL: pin.MaxTTL, MaxTTL: pin.MaxTTL, Skew: pin.Skew}
	}
	return c.apply(ctx, namespace, want, func(ns rules.Namespace, now int64, v View) (rules.Namespace, error) {
		after, err := ns.Retire(now, v.Incarnation, want.Request, reason)
		return after, c.store.Wrap(want.Verb, namespace, err)
	})
}

func (c *Center) operate(ctx context.Context, verb, namespace string, worker int64, do func(ns rules.Namespace, now int64) (rules.Namespace, error)) error {
	return c.apply(ctx, namespace, Want{Verb: verb, Worker: worker}, func(ns rules.Namespace, now int64, _ View) (rules.Namespace, error) {
		after, err := do(ns, now)
		return after, c.store.Wrap(verb, namespace, err)
	})
}
