package generator

import (
	"context"
	"fmt"

	"github.com/snowlease/snowlease/snowflake"
)

var (
	_ snowflake.Source = (*Generator)(nil)
	_ snowflake.Source = Stream{}
)

// A Stream issues ids of one business number with the worker id of its generator. It is a small
// value and safe for concurrent use. Its methods have the errors and cost of Generator's methods.
// The zero Stream is invalid; call Generator.For.
//
// Streams of one generator share its sequence, so no two of their ids have the same
// time and sequence. Ids of one business number ascend. Ids of different business
// numbers ascend from tick to tick.
type Stream struct {
	gen    *Generator
	prefix int64 // the business number in its place
}

// For returns the Stream of a business number, 0 to 2^BusinessBits - 1. The methods of
// Generator itself issue ids of business number 0. A number out of range is an error.
func (g *Generator) For(business int64) (Stream, error) {
	if n := int64(1) << g.layout.BusinessBits; business < 0 || business >= n {
		return Stream{}, fmt.Errorf("snowflake: business number %d is not 0 to %d, the values of %d business bits: give one of them, or raise business_bits",
			business, n-1, g.layout.BusinessBits)
	}
	return Stream{g, business << g.seqBits}, nil
}

// NextID returns the next id: see Generator.NextID.
func (s Stream) NextID() (int64, error) { return s.gen.next(s.prefix, false) }

// NextIDWait returns the next id and waits if necessary: see Generator.NextIDWait.
func (s Stream) NextIDWait(ctx context.Context) (int64, error) {
	id, err := s.gen.NextIDWait(ctx)
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDs fills dst with ascending ids: see Generator.NextIDs.
func (s Stream) NextIDs(ctx context.Context, dst []int64) error {
	if err := s.gen.NextIDs(ctx, dst); err != nil {
		return err
	}
	if s.prefix != 0 {
		for i := range dst {
			dst[i] |= s.prefix
		}
	}
	return nil
}
