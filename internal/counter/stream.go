package counter

import (
	"context"
	"fmt"
)

// A Stream issues ids of a Counter with one business number. Its methods have the errors
// and the cost of the Counter's. It is a value of two words and safe for concurrent use.
// The zero Stream is not valid; see Counter.For.
//
// All streams of a namespace share its ticks and sequence, so no two of their ids agree
// in both. Ids with the same business number ascend. Those with different ones ascend from
// tick to tick.
type Stream struct {
	of     *Counter
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

// NextID returns the next id. See Counter.NextID.
func (s Stream) NextID() (int64, error) {
	id, err := s.of.NextID()
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDWait returns the next id and waits for it. See Counter.NextIDWait.
func (s Stream) NextIDWait(ctx context.Context) (int64, error) {
	id, err := s.of.NextIDWait(ctx)
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDs fills dst with ascending ids. See Counter.NextIDs.
func (s Stream) NextIDs(ctx context.Context, dst []int64) error {
	if err := s.of.NextIDs(ctx, dst); err != nil {
		return err
	}
	for i := range dst {
		dst[i] |= s.prefix
	}
	return nil
}
