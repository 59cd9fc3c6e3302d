package simulate

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// namespace is the one of all runs.
const namespace = "sim"

// A Store is where a center keeps its records, with the faults it can have. It lives
// within one bubble. Its clock is the bubble's, plus the steps.
type Store interface {
	// Name is memory, redis, sqlite or local.
	Name() string
	// Center returns the product's center for one process.
	Center(*Host) (lease.Center, error)
	// Slots reads what the product has on record, by worker. It is empty where
	// nothing is, as with centers that are not the product's.
	Slots() ([]Slot, error)
	// Step moves the center's clock.
	Step(by time.Duration)
	// Now is the center's clock.
	Now() time.Time
	// Lose loses records: Wipe, DropLease, DropMark, DropMeta, DropOwners.
	Lose(what Kind, worker int64) error
	// Snapshot keeps all records; restore brings them back.
	Snapshot() (restore func() error, err error)
	// Reincarnate makes it another server with the records it has.
	Reincarnate() error
	// Close ends whatever the store has started.
	Close() error
}

// A Slot is what a store has on record for a worker id.
type Slot struct {
	Mark  int64  // -1: none
	Owner string // in hexadecimal digits; empty: nobody

	Damaged bool // it cannot be read, so nobody is lent the worker id
}

// oneHost is a store whose processes run on one host.
type oneHost interface{ oneHost() }

// offset is a clock that is the bubble's plus steps. Only one goroutine runs at an
// instant, and the network's gate orders those that read with those that step.
type offset struct{ by time.Duration }

func (o *offset) Step(by time.Duration) { o.by += by }
func (o *offset) Now() time.Time        { return time.Now().Add(o.by) }

// stepped is a center each of whose calls is one step.
type stepped struct {
	lease.Center
	step func(ctx context.Context, call func() error) error
}

func (c stepped) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	return g, c.step(ctx, func() error {
		g, err = c.Center.Acquire(ctx, req)
		return err
	})
}

func (c stepped) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	return renewed, c.step(ctx, func() error {
		renewed, err = c.Center.Renew(ctx, g)
		return err
	})
}

func (c stepped) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	return c.step(ctx, func() error { return c.Center.Release(ctx, g, lastUsed) })
}
