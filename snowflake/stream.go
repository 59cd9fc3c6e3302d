package snowflake

import (
	"context"
	"fmt"
)

// A Stream issues ids of one business number under the worker id of its generator.
// It is a value of two words, safe for concurrent use; its methods are those of the
// Generator, with the same errors and the same cost. The zero Stream is not valid:
// see Generator.For.
//
// Streams of one generator share its sequence, so no two of their ids agree in time
// and sequence. Ids of one business number rise; those of different ones rise from
// tick to tick.
type Stream struct {
	gen    *Generator
	prefix int64 // the business number in its place
}

// For returns the stream of a business number, 0 to 2^BusinessBits - 1. The
// generator's own methods issue for the business number 0.
func (g *Generator) For(business int64) (Stream, error) {
	if n := int64(1) << g.layout.BusinessBits; business < 0 || business >= n {
		return Stream{}, fmt.Errorf("snowflake: business number %d is not 0 to %d, which the layout's %d business bits hold",
			business, n-1, g.layout.BusinessBits)
	}
	return Stream{g, business << g.seqBits}, nil
}

// Business returns the business number.
func (s Stream) Business() int64 { return s.prefix >> s.gen.seqBits }

// NextID returns the next id: see Generator.NextID.
func (s Stream) NextID() (int64, error) { return s.gen.next(s.prefix) }

// NextIDWait returns the next id and waits for it: see Generator.NextIDWait.
func (s Stream) NextIDWait(ctx context.Context) (int64, error) {
	id, err := s.gen.NextIDWait(ctx)
	if err != nil {
		return 0, err
	}
	return id | s.prefix, nil
}

// NextIDs fills dst: see Generator.NextIDs.
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
