package memcenter

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/snowlease/snowlease/casstore"
	"github.com/snowlease/snowlease/internal/rules"
)

// Store keeps records in memory, and has a clock and the faults of a store. The clock
// is time.Now, so a Store works inside testing/synctest. It is safe for concurrent
// use. Create it with NewStore.
type Store struct {
	mu          sync.Mutex
	records     map[string]casstore.Record
	version     int
	offset      time.Duration
	incarnation string
}

// NewStore returns a store without records, with the clock of this host and the
// incarnation "0".
func NewStore() *Store {
	return &Store{records: map[string]casstore.Record{}, incarnation: "0"}
}

// String names the store.
func (*Store) String() string { return "memory" }

// Load returns the record of a namespace.
func (s *Store) Load(_ context.Context, namespace string) (casstore.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.records[namespace]
	r.Now, r.Incarnation = time.Now().Add(s.offset), s.incarnation
	return r, nil
}

// Swap replaces the record of a namespace unless it has changed.
func (s *Store) Swap(_ context.Context, namespace, version string, value []byte) (incarnation string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[namespace].Version != version {
		return "", casstore.ErrChanged
	}
	s.put(namespace, value)
	return s.incarnation, nil
}

// put gives each record a new version, even if its value existed before.
func (s *Store) put(namespace string, value []byte) {
	s.version++
	s.records[namespace] = casstore.Record{Value: value, Version: strconv.Itoa(s.version)}
}

// Now returns the store's time.
func (s *Store) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMilli(time.Now().Add(s.offset).UnixMilli())
}

// Advance moves the clock by d, which may be negative. The clock runs on from there.
func (s *Store) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
}

// Set moves the clock to t. The clock runs on from there.
func (s *Store) Set(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset = time.Until(t)
}

// Reincarnate changes the incarnation and keeps the records. An empty incarnation is
// never compared, as with durable: true.
func (s *Store) Reincarnate(incarnation string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.incarnation = incarnation
}

// Wipe loses all records.
func (s *Store) Wipe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.records)
}

// Records returns the records of a namespace.
func (s *Store) Records(namespace string) rules.Namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	ns, err := rules.Decode(s.records[namespace].Value)
	if err != nil {
		panic(fmt.Sprintf("memcenter: namespace %q: %v", namespace, err))
	}
	return ns
}

// Change replaces the record of a namespace, as by a fault:
//
//	s.Change("orders", rules.Namespace.WithoutMeta)
func (s *Store) Change(namespace string, fault func(rules.Namespace) rules.Namespace) {
	ns := fault(s.Records(namespace))
	s.Rewrite(namespace, func([]byte) []byte {
		if ns.Empty() {
			return nil
		}
		return ns.Encode()
	})
}

// Rewrite replaces the text of a record. A nil text removes the record.
func (s *Store) Rewrite(namespace string, with func(value []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value := with(s.records[namespace].Value); value != nil {
		s.put(namespace, value)
	} else {
		delete(s.records, namespace)
	}
}

// Snapshot saves all records; restore brings them back. Followed by Reincarnate,
// restore is a failover to a stale replica.
func (s *Store) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := maps.Clone(s.records)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.records = maps.Clone(kept) // versions are replicated with the records
	}
}
