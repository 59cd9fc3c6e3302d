package counter

import (
	"context"
	"fmt"
)

// A Stream issues ids of one business number of a Counter. It is a value of
// two words, safe for concurrent use; its methods are those of the Counter, with the
// same errors and the same cost. The zero Stream is not valid: see
// Counter.For.
//
// Streams of one Counter, in whatever process, share its ticks and sequence, so no two
// of their ids agree in both. Ids of one business number rise; those of different ones
// rise from tick to tick.
type Stream struct {
	of     *Counter
	prefix int64 // the business number in its place
}

// For returns the stream of a business number, 0 to 2^BusinessBits - 1. The methods of
// the Counter itself issue for the business number 0.
func (c *Counter) For(business int64) (Stream, error) {
	if n := int64(1) << c.cfg.Layout.BusinessBits; business < 0 || business >= n {
		return Stream{}, fmt.Errorf("redisseq: business number %d is not 0 to %d, which the layout's %d business bits hold",
			business, n-1, c.cfg.Layout.BusinessBits)
	}
	return Stream{c, business << c.seqBits}, nil
}

// Business returns the business number.
func (s Stream) Business() int64 { return s.prefix >> s.of.seqBits }

// NextID returns the next id: see Counter.NextID.
func (s Stream) NextID() (int64, error) {
	id, err := s.of.NextID()
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDWait returns the next id and waits for it: see Counter.NextIDWait.
func (s Stream) NextIDWait(ctx context.Context) (int64, error) {
	id, err := s.of.NextIDWait(ctx)
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDs fills dst: see Counter.NextIDs.
func (s Stream) NextIDs(ctx context.Context, dst []int64) error {
	if err := s.of.NextIDs(ctx, dst); err != nil {
		return err
	}
	for i := range dst {
		dst[i] |= s.prefix
	}
	return nil
}
