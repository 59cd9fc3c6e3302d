package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A Records is a casstore.Store, which documents it.
type Records interface {
	Load(ctx context.Context, name string) (Record, error)
	Swap(ctx context.Context, name, version string, value []byte) (incarnation string, err error)
}

// A Record is a casstore.Record, which documents it.
type Record struct {
	Value       []byte
	Version     string
	Now         time.Time
	Incarnation string
}

// NewWhole returns a center on a store of one record for each namespace, of which the name is that
// of named: its text as a fmt.Stringer, or its type.
func NewWhole(s Records, named any) *Center {
	return New(&whole{naming{named}, s}, rules.MaxPool)
}

// naming is how the errors of casstore and etcdseq begin.
type naming struct{ store any }

// String names the store without its fields, which may have secrets.
func (n naming) String() string {
	if s, ok := n.store.(fmt.Stringer); ok {
		return s.String()
	}
	return fmt.Sprintf("%T", n.store)
}

func (n naming) Wrap(verb, namespace string, err error) error {
	if errors.Is(err, lease.ErrDamaged) {
		err = fmt.Errorf("%w: restore it, or delete it, which starts a quarantine: %w", err, lease.ErrSetup)
	}
	return fmt.Errorf("casstore: %s: namespace %q in %s: %w", verb, namespace, n, err)
}

// failed is Wrap unless there is no error, or the answer is ErrChanged.
func (n naming) failed(verb, namespace string, err error) error {
	if err == nil || errors.Is(err, ErrChanged) {
		return err
	}
	return n.Wrap(verb, namespace, err)
}

// whole keeps a namespace in one record.
type whole struct {
	naming
	records Records
}

func (w *whole) Load(ctx context.Context, name string, want Want) (View, error) {
	r, err := w.records.Load(ctx, name)
	if err != nil {
		return View{}, w.Wrap(want.Verb, name, fmt.Errorf("read the record: %w", err))
	}
	ns, err := rules.Decode(r.Value)
	return View{Namespace: ns, Now: r.Now, Incarnation: r.Incarnation, Kept: r.Version}, w.failed(want.Verb, name, err)
}

func (w *whole) Swap(ctx context.Context, name string, before View, after rules.Namespace) error {
	value, err := after.Encode()
	if err != nil {
		return w.Wrap(before.Want.Verb, name, err)
	}
	incarnation, err := w.records.Swap(ctx, name, before.Kept.(string), value)
	if err == nil && incarnation != before.Incarnation {
		err = ErrReplaced
	}
	return w.failed(before.Want.Verb, name, err)
}

func (naming) Lend(context.Context, lease.Request) (g lease.Grant, done bool, err error) {
	return g, false, nil
}

// Renew leaves it to Load and Swap.
func (w *whole) Renew(context.Context, lease.Grant) (g lease.Grant, done bool, err error) {
	return g, false, nil
}
