package simulate

import (
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/snowlease/snowlease/lease"
)

// A loan is a range of a worker id through all its renewals. Only its holder may use it.
type loan struct {
	process        int // the borrower
	worker         int64
	floor, ceiling int64
	used           int64 // the last millisecond of the last id
	over           bool  // its holder has stopped for good
}

func (l *loan) String() string {
	return fmt.Sprintf("(%d, %d] to process %d", l.floor, l.ceiling, l.process)
}

type tokenOf struct {
	owner         string
	worker, token int64
}

// A ledger knows everything that was ever lent.
type ledger struct {
	loans   map[int64][]*loan // by worker
	byToken map[tokenOf]*loan
	slots   []Slot   // as last read from the store
	giving  []giving // releases in progress
}

// giving is a release on its way through the center.
type giving struct {
	worker int64
	owner  string
	mark   int64
}

func ownerOf(r lease.Request) string { return hex.EncodeToString(r.Owner[:]) }

// lent notes that the center answers an Acquire or a Renew with g. It returns whether
// g was lent before, and the other loan, if any, that shares a millisecond with it.
func (l *ledger) lent(process int, g lease.Grant) (renewed bool, overlapping *loan, mine *loan) {
	key := tokenOf{ownerOf(g.Request), g.Worker, g.Token}
	mine = l.byToken[key]
	if renewed = mine != nil && mine.floor == g.Floor; !renewed {
		mine = &loan{process: process, worker: g.Worker, floor: g.Floor, ceiling: g.Ceiling}
		l.loans[g.Worker] = append(l.loans[g.Worker], mine)
	}
	l.byToken[key] = mine
	if mine.over {
		return renewed, nil, mine // a late copy of the call; nobody uses its grant
	}
	mine.ceiling = max(mine.ceiling, g.Ceiling)
	for _, other := range l.loans[g.Worker] {
		if other != mine && max(other.floor, mine.floor) < min(other.ceiling, mine.ceiling) {
			return renewed, other, mine
		}
	}
	return renewed, nil, mine
}

func (l *ledger) loan(g lease.Grant) *loan {
	return l.byToken[tokenOf{ownerOf(g.Request), g.Worker, g.Token}]
}

// stopped notes that the holder of g has stopped for good.
func (l *ledger) stopped(g lease.Grant, lastUsed int64) {
	if m := l.loan(g); m != nil {
		m.over = true
		m.ceiling = max(m.floor, min(m.ceiling, lastUsed), m.used)
	}
}

// seen compares the records with the previous ones and returns what is wrong.
func (l *ledger) seen(slots []Slot) (wrong string) {
	for w := range min(len(slots), len(l.slots)) {
		was, is := l.slots[w], slots[w]
		if max(is.Mark, 0) >= was.Mark { // none on record is 0: never lent
			continue
		}
		if !slices.ContainsFunc(l.giving, func(g giving) bool {
			return g.worker == int64(w) && g.owner == was.Owner && g.mark == is.Mark
		}) {
			wrong = fmt.Sprintf("the mark of worker %d fell from %d to %d; it was lent: %v", w, was.Mark, is.Mark, was.Owner != "")
		}
	}
	l.slots = slots
	return wrong
}
