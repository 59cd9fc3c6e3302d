package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowlease/snowlease/lease"
)

// A Base is what the stores of casstore and etcdseq share. It names a store in errors, and leaves
// all steps to Load and Swap.
type Base struct{ Of any }

// String names the store without its fields, which may have secrets.
func (b Base) String() string {
	if s, ok := b.Of.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", b.Of)
}

// Wrap implements Store. The answer ErrChanged stays as it is.
func (b Base) Wrap(verb, namespace string, err error) error {
	if err == nil || errors.Is(err, ErrChanged) {
		return err
	}
	if errors.Is(err, lease.ErrDamaged) {
		err = fmt.Errorf("%w: restore it, or delete it, which starts a quarantine: %w", err, lease.ErrSetup)
	}
	return fmt.Errorf("casstore: %s: namespace %q in %s: %w", verb, namespace, b, err)
}

// Lend implements Store.
func (Base) Lend(context.Context, lease.Request) (g lease.Grant, done bool, err error) {
	return g, false, nil
}

// Renew implements Store.
func (Base) Renew(context.Context, lease.Grant) (renewed lease.Grant, done bool, err error) {
	return renewed, false, nil
}
