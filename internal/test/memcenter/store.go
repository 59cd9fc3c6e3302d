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

// Store keeps records in memory, with a clock and the faults that a store can have.
// The clock is time.Now, so that a Store can be used inside testing/synctest. It is
// safe for concurrent use. Make it with NewStore.
type Store struct {
	mu          sync.Mutex
	records     map[string]casstore.Record
	version     int
	offset      time.Duration
	incarnation string
}

// NewStore returns a store with nothing on record, the clock of this host, and an
// incarnation of "0".
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

// Swap replaces the record of a namespace unless it was changed.
func (s *Store) Swap(_ context.Context, namespace, version string, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[namespace].Version != version {
		return casstore.ErrChanged
	}
	s.put(namespace, value)
	return nil
}

// put gives each record a version of its own, be it one that was there before.
func (s *Store) put(namespace string, value []byte) {
	s.version++
	s.records[namespace] = casstore.Record{Value: value, Version: strconv.Itoa(s.version)}
}

// Now is the store's clock.
func (s *Store) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMilli(time.Now().Add(s.offset).UnixMilli())
}

// Advance moves the clock by d, which may be negative. It goes on from there.
func (s *Store) Advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset += d
}

// Set moves the clock to t. It goes on from there.
func (s *Store) Set(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offset = time.Until(t)
}

// Reincarnate makes it another incarnation with the records it has. An empty one is
// never compared, as with quarantine: never.
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

// Records returns what is on record for a namespace.
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
		value, err := ns.Encode()
		if err != nil {
			panic(fmt.Sprintf("memcenter: namespace %q: %v", namespace, err))
		}
		return value
	})
}

// Rewrite replaces the text of a record; one without a text is none.
func (s *Store) Rewrite(namespace string, with func(value []byte) []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if value := with(s.records[namespace].Value); value != nil {
		s.put(namespace, value)
	} else {
		delete(s.records, namespace)
	}
}

// Snapshot keeps all records as they are; restore brings them back. With Reincarnate
// after it, this is a failover to a stale replica.
func (s *Store) Snapshot() (restore func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := maps.Clone(s.records)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		clear(s.records)
		for namespace, r := range kept {
			s.put(namespace, r.Value)
		}
	}
}
