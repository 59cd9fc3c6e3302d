package main

import (
	"context"
	"strconv"
	"sync"

	"github.com/snowlease/snowlease/casstore"
)

// A store keeps the records of leases in memory. It has no clock, so the center uses the
// clock of the host.
type store struct {
	mu      sync.Mutex
	records map[string]casstore.Record
	version int
}

// String names the store in errors, which would otherwise print its records.
func (*store) String() string { return "memory" }

func (s *store) Load(_ context.Context, namespace string) (casstore.Record, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.records[namespace], nil
}

func (s *store) Swap(_ context.Context, namespace, version string, value []byte) (incarnation string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.records[namespace].Version != version {
		return "", casstore.ErrChanged
	}
	s.version++
	s.records[namespace] = casstore.Record{Value: value, Version: strconv.Itoa(s.version)}
	return "", nil // memory loses no write
}
