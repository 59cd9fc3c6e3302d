package segment

import (
	"context"
	"errors"
	"fmt"
)

const (
	// MaxName is the greatest length of a name.
	MaxName = 64
	// MaxReservation is the greatest number of numbers in one reservation.
	MaxReservation = 1_000_000_000
)

// A Store reserves numbers. It is safe for concurrent use, by any number of
// processes. A Store may also be a Creator, and a fmt.Stringer, which names it in logs
// and must not show a secret.
type Store interface {
	// Reserve takes the next numbers of r.Name for the caller alone, in one atomic
	// step: 1 to r.N of them, all greater than r.Above, none greater than r.Max, and all
	// greater than any that the name has given before. Fewer than r.N are no fault.
	//
	// Each call is one attempt and returns when ctx ends. Errors: ErrUnknown, ErrEnd,
	// ErrRequest; anything else says that the outcome is unknown, and numbers may have
	// been reserved that nobody is given.
	Reserve(ctx context.Context, r Request) (Range, error)
}

// A Creator creates names, for administrators.
type Creator interface {
	// Create makes a name whose first number is start, which is at least 1.
	//
	// Errors: ErrExists, ErrRequest.
	Create(ctx context.Context, name string, start int64) error
}

// Request asks for numbers.
type Request struct {
	// Name is 1 to MaxName characters of A-Z a-z 0-9 . _ -
	Name string
	// N is how many numbers are wanted at most, 1 to MaxReservation.
	N int64
	// Above is the greatest number that the caller knows to be given, or 0. A store
	// that has gone back learns it again.
	Above int64
	// Max is the greatest number there may be, at least Start.
	Max int64
	// Start is the first number of a name that this request creates, at least 1.
	Start int64
	// Create allows the store to create the name.
	Create bool
}

// Validate reports every fault of r in one error, or nil. The error is an ErrRequest.
func (r Request) Validate() error {
	errs := []error{CheckName(r.Name)}
	fault := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if r.N < 1 || r.N > MaxReservation {
		fault("%d numbers are asked for: ask for 1 to %d", r.N, MaxReservation)
	}
	if r.Start < 1 || r.Max < r.Start {
		fault("start %d and maximum %d: give 1 <= start <= maximum", r.Start, r.Max)
	}
	if r.Above < 0 {
		fault("above %d is negative", r.Above)
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w: %w", ErrRequest, err)
	}
	return nil
}

// A Range is the numbers First to Last, both included.
type Range struct{ First, Last int64 }

// Len returns how many numbers r has.
func (r Range) Len() int64 { return r.Last - r.First + 1 }

// CheckName returns an error unless name is 1 to MaxName characters of
// A-Z a-z 0-9 . _ -
func CheckName(name string) error {
	ok := name != "" && len(name) <= MaxName
	for i := 0; i < len(name) && ok; i++ {
		c := name[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
	}
	if !ok {
		return fmt.Errorf("the name %q is not 1 to %d characters of A-Z a-z 0-9 . _ -", name, MaxName)
	}
	return nil
}

// Reserve asks store and checks its answer, for stores that stand before another. What
// breaks the contract is an ErrStore.
func Reserve(ctx context.Context, store Store, r Request) (Range, error) {
	got, err := store.Reserve(ctx, r)
	if err != nil {
		return Range{}, err
	}
	if got.First <= r.Above || got.Last < got.First || got.Len() > r.N || got.Last > r.Max {
		return Range{}, fmt.Errorf("%w: asked for %d numbers of %q above %d and up to %d, it gave %d to %d",
			ErrStore, r.N, r.Name, r.Above, r.Max, got.First, got.Last)
	}
	return got, nil
}
