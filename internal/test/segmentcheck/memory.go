package segmentcheck

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowlease/snowlease/internal/numberstore"
)

var _ numberstore.InTx = (*Memory)(nil)

// Memory is a Store in memory. The zero Memory is ready to use.
type Memory struct {
	mu    sync.Mutex
	given map[string]int64 // the greatest number reserved, by name
}

// Reserve implements Store.
func (m *Memory) Reserve(ctx context.Context, r numberstore.Request) (numberstore.Range, error) {
	if err := ctx.Err(); err != nil {
		return numberstore.Range{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if given, there := m.given[r.Beside]; r.Beside != "" && (!there || given < r.Given.First || given > r.Given.Last) {
		return numberstore.Range{}, fmt.Errorf("%w: %q has not given %d to %d", numberstore.ErrUnknown, r.Beside, r.Given.First, r.Given.Last)
	}
	last, ok := m.given[r.Name]
	switch early := r.CheckClock(time.Now().UnixMilli()); {
	case early != nil:
		return numberstore.Range{}, early
	case !ok && !r.Create:
		return numberstore.Range{}, fmt.Errorf("%w: %q", numberstore.ErrUnknown, r.Name)
	case !ok:
		last = r.Start - 1
	}
	if last = max(last, r.Above); last >= r.Max {
		return numberstore.Range{}, fmt.Errorf("%w: %q is at %d of %d", numberstore.ErrEnd, r.Name, last, r.Max)
	}
	got := numberstore.Range{First: last + 1, Last: last + min(r.N, r.Max-last)}
	m.set(r.Name, got.Last)
	return got, nil
}

// Create implements Creator.
func (m *Memory) Create(_ context.Context, name string, start int64) error {
	if err := numberstore.CheckName(name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.given[name]; ok {
		return fmt.Errorf("%w: %q", numberstore.ErrExists, name)
	}
	m.set(name, start-1)
	return nil
}

// HighWater returns the greatest number that a name has given, or 0. Errors: ErrUnknown.
func (m *Memory) HighWater(_ context.Context, name string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	given, ok := m.given[name]
	if !ok {
		return 0, fmt.Errorf("%w: %q", numberstore.ErrUnknown, name)
	}
	return given, nil
}

// Names implements numberstore.InTx.
func (m *Memory) Names(_ context.Context, prefix string, each func(name string, given int64) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(m.given)) {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if err := each(name, m.given[name]); err != nil {
			return err
		}
	}
	return nil
}

// In returns m, which knows nothing of transactions.
func (m *Memory) In(numberstore.Tx) numberstore.Reader { return m }

// Close does nothing.
func (*Memory) Close() error { return nil }

// String returns "memory".
func (m *Memory) String() string { return "memory" }

func (m *Memory) set(name string, last int64) {
	if m.given == nil {
		m.given = map[string]int64{}
	}
	m.given[name] = last
}
