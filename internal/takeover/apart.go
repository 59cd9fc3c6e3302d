package takeover

import (
	"errors"
	"fmt"

	"github.com/snowlease/snowlease/internal/migrate"
	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Side is a range of worker ids of a namespace: Request.First to Request.Last. Its fields are those
// of a namespace that is open.
type Side struct {
	Center lease.Center // its Extras have an Operator
	// Request is the request of a process of this side.
	Request lease.Request
	// Layout is the layout whose fingerprint is Request.Layout.
	Layout snowflake.Layout
}

// ErrNotApart is wrapped by errors of Apart.
var ErrNotApart = errors.New("takeover: ids of both sides can be equal")

// Apart returns nil if no id of one side can ever equal an id of the other. Processes of both
// sides may then run side by side. The layouts may divide the bits below the time differently.
// Apart does not call the centers.
//
// It fails with ErrNotApart, which names the change to make.
func Apart(old, next Side) error {
	a, b := old.Layout.WithDefaults(), next.Layout.WithDefaults()
	if a.Epoch != b.Epoch || a.TimeUnit != b.TimeUnit || migrate.Below(a) != migrate.Below(b) {
		return fmt.Errorf("%w: layouts %v and %v put the time into different bits or count it differently; give both the same epoch, unit and number of bits below the time, or stop the old processes first",
			ErrNotApart, a, b)
	}
	shiftA, shiftB := migrate.Below(a)-int(a.WorkerBits), migrate.Below(b)-int(b.WorkerBits)
	firstA, lastA := old.Request.First<<shiftA, (old.last()+1)<<shiftA-1
	firstB, lastB := next.Request.First<<shiftB, (next.last()+1)<<shiftB-1
	if lastA < firstB || lastB < firstA {
		return nil
	}
	return fmt.Errorf("%w: the old worker ids %d-%d have the bits of the new worker ids %d-%d; exclude these from workers of the new processes",
		ErrNotApart, old.Request.First, old.last(), firstA>>shiftB, min(lastA>>shiftB, b.Workers()-1))
}

// last returns the last worker id of all ids: who has the last one of the pool makes backdated ids
// with the reserved ones behind it.
func (s Side) last() int64 {
	if s.Request.Last >= s.Request.Pool-1 {
		return s.Layout.WithDefaults().Workers() - 1
	}
	return s.Request.Last
}
