package takeover

import (
	"errors"
	"fmt"
	"math/bits"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Side is worker ids of a namespace: Request.First to Request.Last.
type Side struct {
	Center lease.Center
	// Request is what a process of this side asks for.
	Request lease.Request
	// Layout is that of Request.Layout.
	Layout snowflake.Layout
}

// ErrNotApart is wrapped by errors of Apart.
var ErrNotApart = errors.New("takeover: ids of both sides can be equal")

// Apart returns nil if no id of one side can equal one of the other, whenever they are
// made: then processes of both may run side by side. The layouts may deal the bits
// below the time differently. It asks no center.
//
// Errors: ErrNotApart, which says what of the new side would do; a side that is wrong.
func Apart(old, next Side) error {
	if err := errors.Join(old.check("old"), next.check("new")); err != nil {
		return err
	}
	a, b := old.Layout.WithDefaults(), next.Layout.WithDefaults()
	if a.Epoch != b.Epoch || a.TimeUnit != b.TimeUnit || low(a) != low(b) {
		return fmt.Errorf("%w: layouts %v and %v put the time into other bits, or count it otherwise: give both one epoch, one unit and as many bits below the time, or stop the old processes first",
			ErrNotApart, a, b)
	}
	shiftA, shiftB := low(a)-int(a.WorkerBits), low(b)-int(b.WorkerBits)
	firstA, lastA := old.Request.First<<shiftA, (old.Request.Last+1)<<shiftA-1
	firstB, lastB := next.Request.First<<shiftB, (next.Request.Last+1)<<shiftB-1
	if lastA < firstB || lastB < firstA {
		return nil
	}
	return fmt.Errorf("%w: the bits of the old worker ids %d-%d are those of the new worker ids %d-%d: keep the new processes off these by workers",
		ErrNotApart, old.Request.First, old.Request.Last, firstA>>shiftB, min(lastA>>shiftB, b.Workers()-1))
}

// low is how many bits of an id are below the time.
func low(l snowflake.Layout) int { return l.Bits() - int(l.TimeBits) }

func (s Side) check(name string) error {
	err := errors.Join(s.Layout.Validate(), s.Request.Validate())
	switch l := s.Layout; {
	case err != nil:
	case s.Request.Layout != l.String():
		err = fmt.Errorf("its request is for the layout %s, not %v", s.Request.Layout, l)
	case s.Request.Pool > l.Workers():
		err = fmt.Errorf("its pool of %d needs %d worker bits, the layout has %d", s.Request.Pool, bits.Len64(uint64(s.Request.Pool-1)), l.WithDefaults().WorkerBits)
	}
	if err != nil {
		return fmt.Errorf("takeover: the %s side: %w", name, err)
	}
	return nil
}
