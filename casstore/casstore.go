package casstore

import (
	"context"
	"fmt"
	"time"

	"github.com/snowlease/snowlease/internal/engine"
	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/lease"
)

// A Store keeps records by name. The package documentation lists its requirements. It must be
// safe for concurrent use. If it is a fmt.Stringer, logs and errors show its String, which must
// contain no secrets.
type Store interface {
	// Load returns the record with that name, or a Record without a Value if there is none. Names
	// are namespaces: 1 to 64 characters of A-Z a-z 0-9 . _ - , and case-sensitive.
	Load(ctx context.Context, name string) (Record, error)

	// Swap replaces the record that Load returned with version. If the current record has another
	// version, Swap changes nothing and returns ErrChanged. Otherwise it returns the incarnation of
	// the store that it wrote to, as in Record.
	Swap(ctx context.Context, name, version string, value []byte) (incarnation string, err error)
}

// A Record is the content of a Store under a name.
type Record struct {
	// Value is empty if there is no record.
	Value []byte
	// Version is what Swap compares. It may be empty if there is no record.
	Version string
	// Now is the store's clock during the call. If it is zero, this host's clock is used.
	Now time.Time
	// Incarnation changes if acknowledged records may have been lost, such as in a failover or a
	// restart without a log. If it is empty, it is not compared, as with durable: true.
	Incarnation string
}

// ErrChanged is returned by Store.Swap if the record has changed since it was loaded.
var ErrChanged = engine.ErrChanged

// MaxPool is the largest pool of a namespace: 4,096 worker ids. It is limited because each call
// reads and rewrites all slots, each of up to 500 bytes.
const MaxPool = rules.MaxPool

// New returns a center on the store. The center leases the least recently used free worker id.
// Its lease.Extras have a Lister, an Operator and Init. Their Name is s.String() if s is a
// fmt.Stringer, and the type of s otherwise.
func New(s Store) lease.Center {
	return engine.New(&whole{engine.Base{Of: s}, s}, MaxPool)
}

// whole implements engine.Store with one record for each namespace.
type whole struct {
	engine.Base
	store Store
}

func (w *whole) Load(ctx context.Context, name string, want engine.Want) (engine.View, error) {
	r, err := w.store.Load(ctx, name)
	if err != nil {
		return engine.View{}, w.Wrap(want.Verb, name, fmt.Errorf("read the record: %w", err))
	}
	ns, err := rules.Decode(r.Value)
	return engine.View{Namespace: ns, Now: r.Now, Incarnation: r.Incarnation, Kept: r.Version}, w.Wrap(want.Verb, name, err)
}

func (w *whole) Swap(ctx context.Context, name string, before engine.View, after rules.Namespace) error {
	incarnation, err := w.store.Swap(ctx, name, before.Kept.(string), after.Encode())
	if err == nil && incarnation != before.Incarnation {
		err = engine.ErrReplaced
	}
	return w.Wrap(before.Want.Verb, name, err)
}
