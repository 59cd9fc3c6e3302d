// Package leasetest tests that a lease.Center keeps the promises of package lease. Every
// center of this module passes Run, and every other center should.
//
//	func TestContract(t *testing.T) {
//		leasetest.Run(t, func(t testing.TB) leasetest.Store { return newStore(t) })
//	}
//
// The package is for tests only.
package leasetest

import (
	"testing"
	"time"

	"github.com/snowlease/snowlease/lease"
)

// A Store is a store under test that can simulate faults. Its methods fail the test on errors. It
// may also have Flip(t testing.TB), which undoes the last Reincarnate but keeps the records: a
// proxy in front of several servers may appear to do that. And it may have two methods with which
// other programs and people change records. Their record is that of a worker id or, for -1, of
// the namespace:
//
//	// Edit writes a value into a field. It returns false if the store cannot hold that. Fields
//	// of a worker id are owner, token, since, floor, expires and mark, and those of the
//	// namespace pin and quarantine.
//	Edit(t testing.TB, namespace string, worker int64, field, value string) bool
//	// Delete deletes the record.
//	Delete(t testing.TB, namespace string, worker int64)
type Store interface {
	// Center returns a new center on the store, as another process has it.
	Center(t testing.TB) lease.Center
	// Sleep waits until d has passed on the store's clock, or moves that clock. d may be
	// negative if Traits.StandsStill is set.
	Sleep(d time.Duration)
	// Wipe loses all records of all namespaces.
	Wipe(t testing.TB)
	// Drop loses some records of the namespace and keeps the others.
	Drop(t testing.TB, namespace string, what Records)
	// Snapshot saves the records; restore restores them. Followed by Reincarnate, this is a failover
	// to a stale replica.
	Snapshot(t testing.TB) (restore func())
	// Reincarnate makes the store another incarnation with the same records, as after a
	// restart or when another server answers.
	Reincarnate(t testing.TB)
	// Traits returns properties of the store.
	Traits() Traits
}

// Records is a kind of record that a store can lose alone. A store without a separate
// record of a kind loses the next wider one.
type Records int

// Kinds of records.
const (
	OneSlot Records = iota // the lease (expiry) of one worker
	OneMark                // the mark of one worker
	Owners                 // the holders of worker ids
	Meta                   // pin, incarnation, quarantine
)

// Traits are properties of a store.
type Traits struct {
	// LeastRecentlyUsed is set if the center leases the free worker id whose last use is the longest
	// ago.
	LeastRecentlyUsed bool
	// Incarnation is set if the center detects Reincarnate. With durable set, it does not.
	Incarnation bool
	// RenewsAlone is set if a renewal does not read the records of other worker ids. The loss of a
	// slot or a mark is then detected by acquire, by release, and by the renewal of the holder that
	// it concerns. A renewal then returns the ceiling that it requests, even if an earlier one,
	// whose reply was lost, has stored a later ceiling.
	RenewsAlone bool
	// StandsStill is set if only Sleep moves the store's clock. Limits are then tested to
	// the millisecond.
	StandsStill bool
	// Bubble is set if the store asks nobody outside the process, and its clock is that of package
	// time. Each subtest then has its own store, in a bubble of testing/synctest, where nobody waits.
	Bubble bool
}
