package rules

import (
	"fmt"

	"github.com/snowlease/snowlease/lease"
)

// Records are checked here, once, where a center reads them. What the rest computes from numbers
// within these bounds fits every store: no sum overflows a column, and scripts are exact.

// limit is above every number of a record.
const limit int64 = 1e15

// maxPin is the most bytes that lease.ParsePin keeps of a pin.
const maxPin = 1024

// damaged returns lease.ErrDamaged with the problem.
func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %w", lease.ErrDamaged, fmt.Errorf(format, args...))
}

// CheckNumber returns lease.ErrDamaged unless n can be a time, a token or a version. what says
// which one it is.
func CheckNumber(what string, n int64) error {
	if n < 0 || n >= limit {
		return damaged("%s is %d, not 0 to %d", what, n, limit-1)
	}
	return nil
}

// CheckGiven returns lease.ErrDamaged unless n can be the greatest of the small numbers given.
func CheckGiven(what string, n int64) error {
	if n < 0 {
		return damaged("%s is %d, below 0", what, n)
	}
	return nil
}

// Check returns lease.ErrDamaged unless m is a record that a center can have written. Another
// version wrote a pin of another form.
func (m Meta) Check() error {
	switch {
	case m.Pin == noPin:
		return damaged("the pin is empty")
	case len(m.Pin.String()) > maxPin:
		return damaged("the pin has more than %d bytes", maxPin)
	}
	return CheckNumber("the quarantine", m.Quarantine)
}

// Check returns lease.ErrDamaged unless s is a record that a center can have written for a worker
// id.
func (s Slot) Check(worker int64) error {
	for i, n := range [...]int64{s.Token, s.Since, s.Floor, s.Expires, s.Mark, s.Hold, s.Used} {
		if n < 0 || n >= limit {
			return CheckNumber(fmt.Sprintf("%s of worker id %d", [...]string{"token", "since", "floor", "expires", "mark", "hold", "used"}[i], worker), n)
		}
	}
	if n := len(s.Holder); n > lease.MaxHolder {
		return damaged("the holder of worker id %d has %d bytes, more than %d", worker, n, lease.MaxHolder)
	}
	return nil
}
