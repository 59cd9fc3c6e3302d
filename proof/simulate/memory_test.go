package simulate

import (
	"slices"
	"strconv"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
)

// Memory is the in-memory center, which decides by the rules that the model checks. It
// supports all faults.
type Memory struct {
	Records     *memcenter.Center
	incarnation int
}

// NewMemory returns an empty store.
func NewMemory() (Store, error) { return &Memory{Records: memcenter.New()}, nil }

func (*Memory) Name() string { return "memory" }

func (m *Memory) Step(by time.Duration) { m.Records.Advance(by) }

func (m *Memory) Now() time.Time { return m.Records.Now() }

// Center returns the center that all processes share. Each call is one step.
func (m *Memory) Center(*Host) (lease.Center, error) { return stepped{m.Records}, nil }

func (*Memory) Close() error { return nil }

// Reincarnate makes it another server with the same records.
func (m *Memory) Reincarnate() error {
	m.incarnation++
	m.Records.Reincarnate(strconv.Itoa(m.incarnation))
	return nil
}

func (m *Memory) Snapshot() (func() error, error) {
	restore := m.Records.Snapshot()
	return func() error { restore(); return nil }, nil
}

func (m *Memory) Lose(what Kind, worker int64) error {
	m.Records.Change(namespace, func(ns rules.Namespace) rules.Namespace { return without(ns, what, worker) })
	return nil
}

func without(ns rules.Namespace, what Kind, worker int64) rules.Namespace {
	switch {
	case what == Wipe:
		return rules.Namespace{}
	case what == DropMeta:
		return ns.WithoutMeta()
	case what == DropOwners:
		return ns.WithoutOwners()
	case worker >= int64(len(ns.Slots)):
		return ns
	case what == DropLease:
		return ns.WithoutLease(worker)
	default:
		return ns.WithoutMark(worker)
	}
}

func (m *Memory) Shows(what Kind, worker int64) (bool, error) {
	return shows(without(m.Records.Records(namespace), what, worker).Parts())
}

// shows reports whether parts of a namespace show how long grants may last.
func shows(parts map[string]string) (bool, error) {
	ns, err := rules.OfParts(parts)
	return ns.Meta.Pin != lease.Pin{} || slices.ContainsFunc(ns.Slots, func(s rules.Slot) bool { return s.Hold > 0 }), err
}

func (m *Memory) Slots() ([]Slot, error) { return slotsOf(m.Records.Records(namespace)), nil }
