package takeover

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"

	"github.com/snowlease/snowlease/lease"
	"github.com/snowlease/snowlease/snowflake"
)

// A Side is a range of worker ids of a namespace: Request.First to Request.Last.
type Side struct {
	Center lease.Center
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
// It fails with ErrNotApart, which names the change to make, and if a side is invalid.
func Apart(old, next Side) error {
	if err := errors.Join(old.check("old"), next.check("new")); err != nil {
		return err
	}
	a, b := old.Layout.WithDefaults(), next.Layout.WithDefaults()
	if a.Epoch != b.Epoch || a.TimeUnit != b.TimeUnit || low(a) != low(b) {
		return fmt.Errorf("%w: layouts %v and %v put the time into different bits or count it differently; give both the same epoch, unit and number of bits below the time, or stop the old processes first",
			ErrNotApart, a, b)
	}
	shiftA, shiftB := low(a)-int(a.WorkerBits), low(b)-int(b.WorkerBits)
	firstA, lastA := old.Request.First<<shiftA, (old.Request.Last+1)<<shiftA-1
	firstB, lastB := next.Request.First<<shiftB, (next.Request.Last+1)<<shiftB-1
	if lastA < firstB || lastB < firstA {
		return nil
	}
	return fmt.Errorf("%w: the old worker ids %d-%d have the bits of the new worker ids %d-%d; exclude these from workers of the new processes",
		ErrNotApart, old.Request.First, old.Request.Last, firstA>>shiftB, min(lastA>>shiftB, b.Workers()-1))
}

// low returns the number of bits below the time.
func low(l snowflake.Layout) int { return l.Bits() - int(l.TimeBits) }

func (s Side) check(name string) error {
	err := errors.Join(cmp.Or(s.Layout.Validate(), s.Layout.CheckTime(s.Layout.TickTime(0))), s.Request.Validate())
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
