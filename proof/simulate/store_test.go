package simulate

import (
	"context"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// namespace is the namespace of all runs.
const namespace = "sim"

// A Store holds a center's records and plays the faults that it supports. It lives
// within one bubble. Its clock is the bubble's plus its steps.
type Store interface {
	// Name returns memory, redis, sqlite or etcd.
	Name() string
	// Center returns the product's center for one process.
	Center(*Host) (lease.Center, error)
	// Slots reads the product's records, ordered by worker. It is empty if there are
	// none, as for centers that are not the product's.
	Slots() ([]Slot, error)
	// Step moves the center's clock.
	Step(by time.Duration)
	// Now returns the center's time.
	Now() time.Time
	// Lose loses records: Wipe, DropLease, DropMark, DropMeta, DropOwners.
	Lose(what Kind, worker int64) error
	// Shows reports whether something that Lose leaves shows how long grants may last.
	Shows(what Kind, worker int64) (bool, error)
	// Snapshot keeps all records; restore brings them back.
	Snapshot() (restore func() error, err error)
	// Reincarnate makes it another server with the same records.
	Reincarnate() error
	// Close ends what the store has started.
	Close() error
}

// A Slot is a store's record of a worker id.
type Slot struct {
	Mark  int64  // -1: none
	Owner string // hexadecimal; empty: nobody
}

// nearby is a store whose centers run in the processes, by the clocks of their hosts. The
// network carries the requests of a center, each at most once.
type nearby interface{ nearby() }

// offset is a clock that is the bubble's plus steps. Only one goroutine runs at an
// instant, and the network's gate orders readers and steps.
type offset struct{ by time.Duration }

func (o *offset) Step(by time.Duration) { o.by += by }
func (o *offset) Now() time.Time        { return time.Now().Add(o.by) }

// stepped is a center whose calls are one step each.
type stepped struct{ lease.Center }

func (c stepped) Acquire(ctx context.Context, req lease.Request) (g lease.Grant, err error) {
	return g, Step(ctx, func() error {
		g, err = c.Center.Acquire(ctx, req)
		return err
	})
}

func (c stepped) Renew(ctx context.Context, g lease.Grant) (renewed lease.Grant, err error) {
	return renewed, Step(ctx, func() error {
		renewed, err = c.Center.Renew(ctx, g)
		return err
	})
}

func (c stepped) Release(ctx context.Context, g lease.Grant, lastUsed int64) error {
	return Step(ctx, func() error { return c.Center.Release(ctx, g, lastUsed) })
}
