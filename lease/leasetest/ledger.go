package leasetest

import (
	"sync"
	"testing"

	"github.com/snowlease/snowlease/lease"
)

// A ledger records the times that each holder may have put into ids. It fails the test as soon as
// two holders of one worker id share a millisecond.
type ledger struct {
	t     testing.TB
	mu    sync.Mutex
	spans map[int64]map[borrow]span // by worker
	count int
}

// A borrow is a lease with all its renewals. An owner that lost its worker id and borrows again
// has another floor.
type borrow struct {
	owner [16]byte
	floor int64
}

// A span is the range (floor, ceiling].
type span struct{ floor, ceiling int64 }

func (a span) overlaps(b span) bool { return max(a.floor, b.floor) < min(a.ceiling, b.ceiling) }

// lent records a grant. Its holder may use the whole range at any later time.
func (l *ledger) lent(g lease.Grant) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	mine, now := borrow{g.Owner, g.Floor}, span{g.Floor, g.Ceiling}
	if l.spans == nil {
		l.spans = map[int64]map[borrow]span{}
	}
	if l.spans[g.Worker] == nil {
		l.spans[g.Worker] = map[borrow]span{}
	}
	if before, ok := l.spans[g.Worker][mine]; ok {
		now.ceiling = max(now.ceiling, before.ceiling)
	} else {
		l.count++
	}
	for other, theirs := range l.spans[g.Worker] {
		if other != mine && now.overlaps(theirs) {
			l.t.Errorf("worker %d: the ranges (%d, %d] of %x and (%d, %d] of %x overlap, so ids can be issued twice",
				g.Worker, now.floor, now.ceiling, mine.owner, theirs.floor, theirs.ceiling, other.owner)
		}
	}
	l.spans[g.Worker][mine] = now
}

// stopped records that the holder of g has used nothing above lastUsed and never will.
func (l *ledger) stopped(g lease.Grant, lastUsed int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	mine := borrow{g.Owner, g.Floor}
	if now, ok := l.spans[g.Worker][mine]; ok {
		now.ceiling = max(now.floor, min(now.ceiling, lastUsed))
		l.spans[g.Worker][mine] = now
	}
}

// lowest returns the highest ceiling so far, above which the next holder of the worker id
// must start.
func (l *ledger) lowest(worker int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	highest := int64(0)
	for _, s := range l.spans[worker] {
		highest = max(highest, s.ceiling)
	}
	return highest
}

// loans returns the number of leases so far.
func (l *ledger) loans() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}
