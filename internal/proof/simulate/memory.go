package simulate

import (
	"context"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/snowlease/snowlease/internal/rules"
	"github.com/snowlease/snowlease/internal/test/memcenter"
	"github.com/snowlease/snowlease/lease"
)

// Memory is the center in memory, whose decisions are the rules that the model checks.
// It can have all faults.
type Memory struct {
	Records     *memcenter.Center
	incarnation int
}

// NewMemory returns a store with nothing on record.
func NewMemory() (Store, error) { return &Memory{Records: memcenter.New()}, nil }

// Name is memory.
func (*Memory) Name() string { return "memory" }

// Step moves the center's clock.
func (m *Memory) Step(by time.Duration) { m.Records.Advance(by) }

// Now is the center's clock.
func (m *Memory) Now() time.Time { return m.Records.Now() }

// Center returns the one that all processes share.
func (m *Memory) Center(*Host) (lease.Center, error) { return atomic{m.Records}, nil }

// atomic makes each call one step.
type atomic struct{ *memcenter.Center }

func (c atomic) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	return g, Step(ctx, func() error {
		g, err = c.Center.Acquire(ctx, req)
		return err
	})
}

func (c atomic) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	return renewed, Step(ctx, func() error {
		renewed, err = c.Center.Renew(ctx, g)
		return err
	})
}

func (c atomic) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	return Step(ctx, func() error { return c.Center.Release(ctx, g, lastUsed) })
}

// Close does nothing.
func (*Memory) Close() error { return nil }

// Reincarnate makes it another server with the records it has.
func (m *Memory) Reincarnate() error {
	m.incarnation++
	m.Records.Reincarnate(strconv.Itoa(m.incarnation))
	return nil
}

// Snapshot keeps all records.
func (m *Memory) Snapshot() (func() error, error) {
	restore := m.Records.Snapshot()
	return func() error { restore(); return nil }, nil
}

// Lose loses records.
func (m *Memory) Lose(what Kind, worker int64) error {
	m.Records.Change(namespace, func(ns rules.Namespace) rules.Namespace {
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
	})
	return nil
}

// Slots reads the records.
func (m *Memory) Slots() (slots []Slot, _ error) {
	m.Records.Change(namespace, func(ns rules.Namespace) rules.Namespace {
		slots = make([]Slot, len(ns.Slots))
		for w, s := range ns.Slots {
			slots[w].Mark = -1
			if s.HasMark {
				slots[w].Mark = s.Mark
			}
			if s.Owner != [16]byte{} {
				slots[w].Owner = hex.EncodeToString(s.Owner[:])
			}
		}
		return ns
	})
	return slots, nil
}
