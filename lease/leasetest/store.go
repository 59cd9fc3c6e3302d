// Package leasetest proves that a lease.Center keeps its promises: Run is the
// contract that every center of this module passes, and that an own center should.
//
//	func TestContract(t *testing.T) {
//		leasetest.Run(t, func(t testing.TB) leasetest.Store { return newStore(t) })
//	}
//
// It is for tests only.
package leasetest

import (
	"testing"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A Store is one store under test, with the faults that the suite asks it for. Its
// methods fail the test on an error of their own.
type Store interface {
	// Center returns a new center on the store, as another process would have it.
	Center(t testing.TB) lease.Center
	// Sleep lets d pass on the store's clock, in truth or by moving that clock. d may be
	// negative where Traits.StandsStill.
	Sleep(d time.Duration)
	// Wipe loses all records of all namespaces.
	Wipe(t testing.TB)
	// Drop loses some records of the namespace, and keeps the others.
	Drop(t testing.TB, namespace string, what Records)
	// Snapshot keeps the records as they are now; restore brings them back. With
	// Reincarnate after it, this is a failover to a stale replica.
	Snapshot(t testing.TB) (restore func())
	// Reincarnate makes the store another incarnation with the records it has: it
	// was restarted, or another server answers for it.
	Reincarnate(t testing.TB)
	// Traits says what the store does and does not do.
	Traits() Traits
}

// Records are kinds of records that a store can lose by themselves. A store that
// has no such record of its own loses the next wider kind.
type Records int

// Kinds of records.
const (
	OneSlot Records = iota // the lease (expiry) of one worker
	OneMark                // the mark of one worker
	Owners                 // who holds what
	Meta                   // pin, incarnation, quarantine
)

// Traits of a store.
type Traits struct {
	// LeastRecentlyUsed: the free worker that was used longest ago is lent first.
	LeastRecentlyUsed bool
	// Incarnation: Reincarnate is seen by the center. False where the center does
	// not look (quarantine: never).
	Incarnation bool
	// StandsStill: the store's clock moves by Sleep only, so that limits can be shown
	// to the millisecond.
	StandsStill bool
}
