package counter

import (
	"context"
	"errors"
	"fmt"

	"github.com/snowlease/snowlease/internal/generator"
)

// A Stream issues ids of a Counter with one business number. It is a value of two words and
// safe for concurrent use. The zero Stream is not valid; see Counter.For.
//
// All streams of a namespace share its ticks and sequence, so no two of their ids have both in
// common. Ids with the same business number ascend. Ids with different business numbers ascend
// from tick to tick.
type Stream struct {
	c      *Counter
	prefix int64 // the business number, shifted into place
}

// For returns the stream of a business number, 0 to 2^BusinessBits - 1. The methods of
// the Counter itself use business number 0. A number out of range is an error.
func (c *Counter) For(business int64) (Stream, error) {
	if n := int64(1) << c.cfg.Layout.BusinessBits; business < 0 || business >= n {
		return Stream{}, fmt.Errorf("redisseq: business number %d is not 0 to %d, which the layout's %d business bits hold",
			business, n-1, c.cfg.Layout.BusinessBits)
	}
	return Stream{c, business << c.seqBits}, nil
}

// Errors of NextID, which does not wait for Redis.
var (
	errNone   = fmt.Errorf("%w: no id is reserved ahead, and only NextIDWait and NextIDs wait for Redis", generator.ErrExhausted)
	errDirect = fmt.Errorf("redisseq: prefetch is 1, so that each id is a call of Redis: use NextIDWait or NextIDs: %w", errors.ErrUnsupported)
)

// NextID returns the next id that is reserved ahead. The id is greater than all that the Counter
// issued before with the same business number. If no id is reserved, NextID makes the Counter
// reserve one.
//
// On error the id is 0. Errors are ErrNotStarted, ErrClosed and ErrExhausted of package
// snowlease, *lease.QuarantineError, errors from Redis, and errors.ErrUnsupported if Prefetch is
// 1.
func (s Stream) NextID() (int64, error) {
	none := errNone
	if s.c.of.Strict {
		none = errDirect
	}
	v, err := s.c.of.AtHand(none)
	if err != nil {
		return 0, err
	}
	return s.id(v), nil
}

// NextIDWait returns the next id. It waits, until ctx ends, for Redis, for the clock after a
// burst, and for the end of a quarantine. If ctx has a deadline before the wait would end, it
// returns immediately.
//
// On error the id is 0. NextIDWait returns the errors of NextID, joined with the cause of ctx if
// ctx has ended. It does not wait if the error is ErrNotStarted or ErrClosed.
func (s Stream) NextIDWait(ctx context.Context) (int64, error) {
	var dst [1]int64
	err := s.NextIDs(ctx, dst[:])
	return dst[0], err
}

// NextIDs fills dst with ascending ids. It waits like NextIDWait and returns the same errors. If
// Prefetch is 1, it makes one call of Redis, or several for more ids than fit within MaxAhead. On
// error, dst is zeroed and the reserved ids are discarded. If Reset is called in the meantime,
// NextIDs starts again, because a copy of the process may have the same ids.
func (s Stream) NextIDs(ctx context.Context, dst []int64) error {
	if err := s.c.of.Fill(ctx, dst); err != nil {
		return err
	}
	for i, v := range dst {
		dst[i] = s.id(v)
	}
	return nil
}

// id returns the id of a value.
func (s Stream) id(v int64) int64 {
	c := s.c
	return v>>(c.seqBits&63)<<(c.tsShift&63) | c.worker | s.prefix | v&c.seqMask
}
